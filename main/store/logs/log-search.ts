import type { LogSearch, StoredLine } from '../../orchestrator/ports/index.ts';
import { blocksFrom, createLineSplitter, firstLineOf, type Snapshot } from './log-reading.ts';

const escape = '\u001b';
const colours = new RegExp(`${escape}\\[[\\d;:]*m`, 'g');

/** Removes color codes and case from text. Uses upper case, because some letters have several lower-case forms. */
const searchable = (text: string): string =>
  (text.includes(escape) ? text.replaceAll(colours, '') : text).toUpperCase();

/**
 * Returns the first `limit` matches from line `from` on, and the number of matches in the whole log. Returns null when the search
 * was aborted. Yields to the event loop after each block.
 */
export async function searchLines(
  snapshot: Snapshot,
  { text, from, limit, isOver }: LogSearch,
  maxBytes: number,
): Promise<{ readonly matches: readonly StoredLine[]; readonly total: number } | null> {
  const searchedText = searchable(text);
  const first = firstLineOf(snapshot);
  const splitter = createLineSplitter(first, maxBytes);
  const matches: StoredLine[] = [];
  let total = 0;
  for await (const block of blocksFrom(snapshot, first)) {
    if (isOver()) return null;
    // Most blocks contain no match and are skipped quickly.
    if (!splitter.isWithin() && !searchable(block.text.toString('utf8')).includes(searchedText)) {
      splitter.skip(block);
    } else {
      for (const line of splitter.take(block)) {
        if (!searchable(line.text).includes(searchedText)) continue;
        total += 1;
        if (line.line >= from && matches.length < limit) matches.push(line);
      }
    }
    await new Promise(resolve => setImmediate(resolve));
  }
  return { matches, total };
}
