import type { LogLine } from '../../../../protocol/logs-api.ts';

/** A line number; null when no line matches; `unread` when the search failed. */
export type FoundLine = number | null | 'unread';

/** Finds the first match after line `after`, and continues from the start. */
export async function findNext(search: SearchLines, text: string, after: number): Promise<FoundLine> {
  const found = await search(text, after + 1);
  if (found === null) return 'unread';
  const [hit] = found.matches;
  if (hit !== undefined) return hit.line;
  return after < 0 ? null : findNext(search, text, -1);
}

/** Maximum number of matches per answer. In a window of this many lines, the answer contains every match. */
export const maxMatches = 1_000;

/**
 * Finds the last match before line `before`, and continues from the end; `total` is the number of lines. The server only searches forwards.
 * So this searches the lines just before, then windows of doubling size before those.
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
    // Each window precedes the one without matches.
    const last = await lastBetween(search, text, from, to);
    if (last !== null) return last;
    to = from;
  }
  return before >= total ? null : findPrevious(search, text, total, total);
}

async function lastBetween(search: SearchLines, text: string, from: number, to: number): Promise<FoundLine> {
  let last: number | null = null;
  for (let at = from; at < to; ) {
    // Each part starts after the previous one's last match.
    const found = await search(text, at);
    if (found === null) return 'unread';
    const before = found.matches.filter(({ line }) => line < to);
    last = before.at(-1)?.line ?? last;
    if (found.isAll || before.length < found.matches.length || last === null) return last;
    at = last + 1;
  }
  return last;
}

/** Search texts, case-insensitive. Not every line with one is an error. */
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
  // `ValueError: ...`, `torch.OutOfMemoryError: ...`, `java.lang.Exception: ...`, but no `mean error: 0.3`.
  /(?:^|[\s.\]])[A-Z]\w*(?:Error|Exception)\b(?::|$)/,
  // The prefix of loggers and compilers, after a time or a file name.
  /(?:^|[\s\]|:[])(?:ERROR|CRITICAL|FATAL)(?:[\s\]:|]|$)/,
  /^(?:\S+: )?(?:fatal )?error: /i,
  /\bout of memory\b/i,
  /\bCUDA error\b/i,
  /\bsegmentation fault\b/i,
  /^Killed$/,
  /\bpanicked at\b/,
];

/**
 * Returns true when a line reports an error, and does not merely mention one.
 * @internal
 */
export const looksLikeError = (text: string): boolean => errorShapes.some(shape => shape.test(text));

interface Found {
  readonly matches: readonly LogLine[];
  /** Whether these are the last matches. */
  readonly isAll: boolean;
}

/** Returns matching lines from `line` on, in order; null when the search failed. */
export type SearchLines = (text: string, line: number) => Promise<Found | null>;

/** Maximum number of answers per text, because a log can be full of harmless matches. */
const maxAnswers = 8;

/**
 * Finds the first line that looks like an error, using server searches, because reading the whole log would take minutes. Null when there
 * is none; `unread` when a search failed.
 */
export async function firstError(
  search: SearchLines,
  textOf: (line: LogLine) => string,
): Promise<number | null | 'unread'> {
  let first: number | null = null;
  for (const word of errorWords) {
    let from = 0;
    for (let answers = 0; answers < maxAnswers && (first === null || from < first); answers += 1) {
      // Search the texts one after another: each match limits the next search.
      const found = await search(word, from);
      if (found === null) return 'unread';
      const hit = found.matches.find(line => line.note === undefined && looksLikeError(textOf(line)));
      if (hit !== undefined) first = Math.min(hit.line, first ?? hit.line);
      const last = found.matches.at(-1);
      if (hit !== undefined || found.isAll || last === undefined) break;
      from = last.line + 1;
    }
  }
  return first;
}
