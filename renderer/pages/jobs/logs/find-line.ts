import type { SearchLines } from './first-error.ts';

/** The number of a line; null where no line has it, `unread` where that could not be found out. */
export type Sought = number | null | 'unread';

/** The first line with this text behind `after`; behind the last one it goes on with the first. */
export async function findNext(search: SearchLines, text: string, after: number): Promise<Sought> {
  const found = await search(text, after + 1);
  if (found === null) return 'unread';
  const [hit] = found.matches;
  if (hit !== undefined) return hit.line;
  return after < 0 ? null : findNext(search, text, -1);
}

/** As many lines as one answer can have: if each of them has it, the last one is among them. */
export const mostMatches = 1_000;

/**
 * The last line with this text before `before`; before the first one it goes on with the last of all, of which there are
 * `total`. Searches go forwards alone: so it looks through what is just before, then through twice as much before that.
 */
export async function findPrevious(
  search: SearchLines,
  text: string,
  before: number,
  total: number,
): Promise<Sought> {
  let to = before;
  for (let width = mostMatches; to > 0; width *= 2) {
    const from = Math.max(0, to - width);
    // Each window lies before the one that had nothing.
    const last = await lastBetween(search, text, from, to);
    if (last !== null) return last;
    to = from;
  }
  return before >= total ? null : findPrevious(search, text, total, total);
}

async function lastBetween(search: SearchLines, text: string, from: number, to: number): Promise<Sought> {
  let last: number | null = null;
  for (let at = from; at < to; ) {
    // The next part begins behind what this one has found.
    const found = await search(text, at);
    if (found === null) return 'unread';
    const before = found.matches.filter(({ line }) => line < to);
    last = before.at(-1)?.line ?? last;
    if (found.isAll || before.length < found.matches.length || last === null) return last;
    at = last + 1;
  }
  return last;
}
