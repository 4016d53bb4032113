import { type Block, doesRun, placeOf, textOf } from './blocks.ts';

/** Compares documented responses with the output of the blocks before them. Returns one line for each difference. */
export function findMissingKeys(
  blocks: readonly Block[],
  printed: (block: Block) => string,
): readonly string[] {
  return blocks.flatMap((block, index) => {
    if (!block.isResponse) return [];
    const source = blocks.slice(0, index).findLast(doesRun);
    const text = source === undefined ? '' : printed(source);
    const documented = parseJson(textOf(block));
    const actual = parseJson(text);
    if (actual === undefined) return [`${placeOf(block)}: the block before it printed no JSON: ${text}`];
    return missingIn(documented, actual, '').map(problem => `${placeOf(block)}: ${problem} in ${text}`);
  });
}

/** Parses a text as JSON or, if that fails, its last line. Returns undefined when neither is JSON. */
function parseJson(text: string): unknown {
  for (const candidate of [text, text.trim().split('\n').at(-1) ?? ''])
    try {
      return JSON.parse(candidate) as unknown;
    } catch {
      // Try the last line, because the command may print other text before its JSON.
    }
  return undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Describes the keys of `documented` that `actual` lacks or has with another type. `documented` may omit keys and entries. */
function missingIn(documented: unknown, actual: unknown, path: string): readonly string[] {
  if (Array.isArray(documented)) {
    if (!Array.isArray(actual)) return [`${path} is not a list`];
    return documented.flatMap((entry, index) => {
      const problemsByCandidate = actual.map(candidate => missingIn(entry, candidate, `${path}[${index}]`));
      return problemsByCandidate.some(problems => problems.length === 0)
        ? []
        : (problemsByCandidate[0] ?? [`${path} is empty`]);
    });
  }
  if (!isObject(documented)) {
    const isSame = typeof documented === typeof actual && (documented === null) === (actual === null);
    return isSame ? [] : [`${path} is ${JSON.stringify(actual)}`];
  }
  if (!isObject(actual)) return [`${path} is not an object`];
  return Object.entries(documented).flatMap(([key, value]) =>
    key in actual ? missingIn(value, actual[key], `${path}.${key}`) : [`${path}.${key} is missing`],
  );
}
