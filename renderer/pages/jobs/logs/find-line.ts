import type { LogLine } from '../../../../protocol/logs-api.ts';

/** The number of the found line; null when no line matches; `unread` when the search failed. */
export type FoundLine = number | null | 'unread';

/** Finds the first match after line `after`. Continues at the start of the log when there is none. */
export async function findNext(search: SearchLines, text: string, after: number): Promise<FoundLine> {
  const answer = await search(text, after + 1);
  if (answer === null) return 'unread';
  const [hit] = answer.matches;
  if (hit !== undefined) return hit.line;
  return after < 0 ? null : findNext(search, text, -1);
}

/** Maximum number of matches in an answer. A window of at most this many lines is always covered by one answer. */
export const maxMatches = 1_000;

/**
 * Finds the last match before line `before`. Continues at the end of the log when there is none; `total` is the number
 * of lines. The server only searches forwards. So the function first searches a window just before `before`, then earlier
 * windows of doubling size.
 */
export async function findPrevious(
  search: SearchLines,
  text: string,
  before: number,
  total: number,
): Promise<FoundLine> {
  let to = before;
  for (let width = maxMatches; to > 0; width *= 2) {
    const from = Math.max(0, to - width);
    // Each window ends at the start of the previously searched window.
    const last = await lastBetween(search, text, from, to);
    if (last !== null) return last;
    to = from;
  }
  return before >= total ? null : findPrevious(search, text, total, total);
}

async function lastBetween(search: SearchLines, text: string, from: number, to: number): Promise<FoundLine> {
  let last: number | null = null;
  let next = from;
  while (next < to) {
    // Each search starts after the last match of the previous answer.
    const answer = await search(text, next);
    if (answer === null) return 'unread';
    const inRange = answer.matches.filter(({ line }) => line < to);
    last = inRange.at(-1)?.line ?? last;
    if (answer.isAll || inRange.length < answer.matches.length) return last;
    next = (answer.matches.at(-1)?.line ?? to) + 1;
  }
  return last;
}

/** Words to search for; the search ignores case. Not every line with such a word reports an error. */
const errorWords = [
  'traceback (most recent call last)',
  'error',
  'exception',
  'out of memory',
  'fatal',
  'segmentation fault',
  'killed',
  'panicked at',
] as const;

const errorShapes: readonly RegExp[] = [
  /Traceback \(most recent call last\)/,
  // Matches `ValueError: ...`, `torch.OutOfMemoryError: ...` and `java.lang.Exception: ...`, but not `mean error: 0.3`.
  /(?:^|[\s.\]])[A-Z]\w*(?:Error|Exception)\b(?::|$)/,
  // Matches the prefix that loggers and compilers print after a time or a file name.
  /(?:^|[\s\]|:[])(?:ERROR|CRITICAL|FATAL)(?:[\s\]:|]|$)/,
  /^(?:\S+: )?(?:fatal )?error: /i,
  /\bout of memory\b/i,
  /\bCUDA error\b/i,
  /\bsegmentation fault\b/i,
  /^Killed$/,
  /\bpanicked at\b/,
];

/** Returns true when the line reports an error instead of only mentioning one. @internal */
export const looksLikeError = (text: string): boolean => errorShapes.some(shape => shape.test(text));

interface Found {
  readonly matches: readonly LogLine[];
  /** True when there are no further matches. */
  readonly isAll: boolean;
}

/** Returns the matching lines in order, starting at line `line`. Returns null when the search failed. */
export type SearchLines = (text: string, line: number) => Promise<Found | null>;

/** Maximum number of answers to read per word, because a log may contain the word in many harmless lines. */
const maxAnswers = 8;

/**
 * Finds the first line that looks like an error. Null when there is none; `unread` when a search failed. Uses the
 * server's search, because reading the whole log would take minutes.
 */
export async function firstError(search: SearchLines, textOf: (line: LogLine) => string): Promise<FoundLine> {
  let first: number | null = null;
  for (const word of errorWords) {
    let from = 0;
    for (let answers = 0; answers < maxAnswers && (first === null || from < first); answers += 1) {
      // Search in sequence, because each match limits the range of the next search.
      const answer = await search(word, from);
      if (answer === null) return 'unread';
      const hit = answer.matches.find(line => line.note === undefined && looksLikeError(textOf(line)));
      if (hit !== undefined) first = Math.min(hit.line, first ?? hit.line);
      const last = answer.matches.at(-1);
      if (hit !== undefined || answer.isAll || last === undefined) break;
      from = last.line + 1;
    }
  }
  return first;
}
