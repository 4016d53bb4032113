import { type Block, doesRun, placeOf, textOf } from './blocks.ts';

/** Compares documented responses with the output of the blocks before them. Returns one line for each difference. */
export function findMissingKeys(
  blocks: readonly Block[],
  printed: (block: Block) => string,
): readonly string[] {
  return blocks.flatMap((block, at) => {
    if (!block.isResponse) return [];
    const source = blocks.slice(0, at).findLast(doesRun);
    const text = source === undefined ? '' : printed(source);
    const shown = parseJson(textOf(block));
    const real = parseJson(text);
    if (real === undefined) return [`${placeOf(block)}: the block before it printed no JSON: ${text}`];
    return missingIn(shown, real, '').map(problem => `${placeOf(block)}: ${problem} in ${text}`);
  });
}

/** Parses a text, or the last line of it that is JSON. */
function parseJson(text: string): unknown {
  for (const candidate of [text, text.trim().split('\n').at(-1) ?? ''])
    try {
      return JSON.parse(candidate) as unknown;
    } catch {
      // The command prints other text before it.
    }
  return undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the keys of `shown` that `real` lacks, or has with a value of another type. `shown` may omit keys and entries. */
function missingIn(shown: unknown, real: unknown, path: string): readonly string[] {
  if (Array.isArray(shown)) {
    if (!Array.isArray(real)) return [`${path} is not a list`];
    return shown.flatMap((each, at) => {
      const found = real.map(other => missingIn(each, other, `${path}[${at}]`));
      return found.some(problems => problems.length === 0) ? [] : (found[0] ?? [`${path} is empty`]);
    });
  }
  if (!isObject(shown)) {
    const isSame = typeof shown === typeof real && (shown === null) === (real === null);
    return isSame ? [] : [`${path} is ${JSON.stringify(real)}`];
  }
  if (!isObject(real)) return [`${path} is not an object`];
  return Object.entries(shown).flatMap(([key, value]) =>
    key in real ? missingIn(value, real[key], `${path}.${key}`) : [`${path}.${key} is missing`],
  );
}
