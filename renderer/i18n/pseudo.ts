const plain = 'aeiouyAEIOUYcnsz';
const marks = 'áéíóúýÁÉÍÓÚÝçñšž';
const marked = new Map(Array.from(plain, (letter, at) => [letter, marks[at] ?? letter]));

/** Makes each text half as long again, about as long as in German or Finnish. Text in braces stays unchanged. */
export function pseudoOf<M extends Readonly<Record<string, string>>>(
  messages: M,
): Readonly<Record<keyof M, string>> {
  const entries = Object.entries(messages).map(([key, text]) => [key, `[${pad(text)}]`] as const);
  return { ...messages, ...Object.fromEntries(entries) };
}

function pad(text: string): string {
  let depth = 0;
  const letters = Array.from(text, letter => {
    if (letter === '{') depth += 1;
    if (letter === '}') depth -= 1;
    return depth > 0 ? letter : (marked.get(letter) ?? letter);
  });
  return letters.join('') + '~'.repeat(Math.ceil(text.replace(/\{.*\}/g, '').length / 2));
}
