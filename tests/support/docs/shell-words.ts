/** Splits shell text into commands, each as a list of words without quotes. Omits redirections and comments. */
export function splitCommands(text: string): readonly (readonly string[])[] {
  const commands: string[][] = [];
  /** The state of the outer commands while a `$(` is open. */
  const outer: { readonly words: string[]; readonly word: string; readonly quote: string }[] = [];
  let words: string[] = [];
  let word: string | null = null;
  let quote = '';
  let isRedirectTarget = false;
  const endWord = (): void => {
    if (word !== null && !isRedirectTarget) words.push(word);
    if (word !== null) isRedirectTarget = false;
    word = null;
  };
  const endCommand = (): void => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index);
    const after = text.charAt(index + 1);
    if (quote === "'") {
      if (char === quote) quote = '';
      else word += char;
    } else if (char === '\\') {
      index += 1;
      if (after !== '\n') word = (word ?? '') + after;
    } else if (char === '$' && after === '(') {
      index += 1;
      outer.push({ words, word: word ?? '', quote });
      words = [];
      word = null;
      quote = '';
    } else if (quote !== '') {
      if (char === quote) quote = '';
      else word += char;
    } else if (char === ')' && outer.length > 0) {
      endCommand();
      const resumed = outer.pop();
      words = resumed?.words ?? [];
      word = `${resumed?.word ?? ''}$()`;
      quote = resumed?.quote ?? '';
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (char === '#' && word === null) {
      index += text.slice(index).search(/\n|$/) - 1;
    } else if ((char === '<' || char === '>') && after !== '(') {
      if (word !== null && /^\d$/.test(word)) word = null;
      endWord();
      isRedirectTarget = true;
      if (after === '&' || after === char) index += 1;
    } else if (/[\n;|&()<>]/.test(char)) endCommand();
    else if (/\s/.test(char)) endWord();
    else word = (word ?? '') + char;
  }
  endCommand();
  return commands;
}

/** npm scripts that start `trainyard`, with the arguments that the script passes. */
const scripts: Readonly<Record<string, readonly string[]>> = {
  trainyard: [],
  server: ['server'],
  worker: ['worker'],
  demo: ['demo'],
};
/** Matches words before the name of the program: variables, and words of the shell. */
const prefixes = /^(?:\w+=.*|sudo|exec|time|then|do|else|if|until|while|!)$/s;
const baseName = (word: string): string => word.slice(word.lastIndexOf('/') + 1);

/** Returns the arguments of `trainyard` if the command starts it, for example through `npm run` or `node`; null otherwise. */
export function argumentsOf(words: readonly string[]): readonly string[] | null {
  const start = words.findIndex(word => !prefixes.test(word));
  const own = words.slice(Math.max(start, 0));
  const [program = '', first = ''] = own;
  if (program === 'podman' && first === 'exec') return argumentsOf(own.slice(3));
  if (program === 'npm' && first === 'run') {
    const [name = '', dashes, ...rest] = own.slice(2).filter(word => word !== '-s');
    const script = scripts[name];
    return script === undefined ? null : [...script, ...(dashes === '--' ? rest : [])];
  }
  if (baseName(program) === 'node') return argumentsOf([baseName(first), ...own.slice(2)]);
  if (/^(?:trainyard|cli\.[jt]s)$/.test(baseName(program))) return own.slice(1);
  if (/^trainyard-worker(?:\.mjs)?$/.test(baseName(program))) return ['worker', ...own.slice(1)];
  return null;
}
