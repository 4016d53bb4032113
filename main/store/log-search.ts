import type { LogSearch, StoredLine } from '../orchestrator/ports.ts';
import { blocksFrom, createLineSplitter, firstLineOf, type Snapshot } from './log-reading.ts';

const escape = '\u001b';
const colours = new RegExp(`${escape}\\[[\\d;:]*m`, 'g');

/** Whatever the case and the colours: upper case, since some letters have several lower ones. */
const searchable = (text: string): string =>
  (text.includes(escape) ? text.replaceAll(colours, '') : text).toUpperCase();

/** Null when it was given up. Others get their turn after each block. */
export async function searchLines(
  snapshot: Snapshot,
  { text, from, limit, isOver }: LogSearch,
  mostBytes: number,
): Promise<{ readonly matches: readonly StoredLine[]; readonly total: number } | null> {
  const wanted = searchable(text);
  const first = firstLineOf(snapshot);
  const splitter = createLineSplitter(first, mostBytes);
  const matches: StoredLine[] = [];
  let total = 0;
  for await (const block of blocksFrom(snapshot, first)) {
    if (isOver()) return null;
    // Most have nothing of it, and are done with at once.
    if (!splitter.isWithin() && !searchable(block.text.toString('utf8')).includes(wanted)) {
      splitter.pass(block);
    } else {
      for (const line of splitter.take(block)) {
        if (!searchable(line.text).includes(wanted)) continue;
        total += 1;
        if (line.line >= from && matches.length < limit) matches.push(line);
      }
    }
    await new Promise(resolve => setImmediate(resolve));
  }
  return { matches, total };
}
