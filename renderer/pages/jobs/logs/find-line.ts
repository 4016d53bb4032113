import type { SearchLines } from './first-error.ts';

/** A line number; null when no line matches; `unread` when the search failed. */
export type Sought = number | null | 'unread';

/** Finds the first match after line `after`, and continues from the start. */
export async function findNext(search: SearchLines, text: string, after: number): Promise<Sought> {
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
): Promise<Sought> {
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

async function lastBetween(search: SearchLines, text: string, from: number, to: number): Promise<Sought> {
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
