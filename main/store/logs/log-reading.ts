import { type FileHandle, open } from 'node:fs/promises';
import type { StoredLine } from '../../orchestrator/ports/index.ts';
import { afterFeed, createLineFold, foldLine, nextFeed } from './log-line.ts';
import {
  indexFile,
  isMissing,
  readMark,
  type Segment,
  textFile,
  decodeMark,
  type Mark,
  markBytes,
} from './log-segments.ts';

/** The state of a log at one moment, without later appends. */
export interface Snapshot {
  readonly folder: string;
  readonly segments: readonly Segment[];
}

/**
 * A piece of text and its marks (`log-segments.ts`); the last mark is at the end of the piece. The buffer is valid only until the
 * next block.
 */
export interface Block {
  readonly text: Buffer;
  /** Position of the block in the whole text. */
  readonly byte: number;
  readonly marks: readonly Mark[];
}

/** Bytes per read, small enough that processing a block does not delay other work. */
const blockBytes = 262_144;
const marksPerRead = 512;

/** Returns the number of the first line whose beginning is still stored. */
export function firstLineOf({ segments: [first] }: Snapshot): number {
  if (first === undefined) return 0;
  return first.base.lines + (first.base.isOpen ? 1 : 0);
}

/** Yields the blocks of a log from the start of `line` on. Ends early when a segment was removed to make space. */
export async function* blocksFrom({ folder, segments }: Snapshot, line: number): AsyncGenerator<Block, void> {
  const firstSegment = Math.max(
    0,
    segments.findLastIndex(({ base }) => base.lines < line),
  );
  for (const [n, segment] of segments.slice(firstSegment).entries()) {
    const files = await openFiles(folder, segment.number);
    if (files === null) return;
    try {
      yield* blocksOf(files, segment, n === 0 ? await findLine(files, segment, line) : { mark: 0, skip: 0 });
    } finally {
      await Promise.all([files.index.close(), files.text.close()]);
    }
  }
}

interface Files {
  readonly index: FileHandle;
  readonly text: FileHandle;
}

async function openFiles(folder: string, number: number): Promise<Files | null> {
  try {
    const index = await open(indexFile(folder, number), 'r');
    try {
      return { index, text: await open(textFile(folder, number), 'r') };
    } catch (cause) {
      await index.close();
      throw cause;
    }
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw cause;
  }
}

/** Finds the mark before the start of a line, and the number of bytes from the mark to the line. */
async function findLine(
  { index, text }: Files,
  { base, count, end }: Segment,
  line: number,
): Promise<{ readonly mark: number; readonly skip: number }> {
  if (line < base.lines || (line === base.lines && !base.isOpen)) return { mark: 0, skip: 0 };
  const linesNeeded = Math.max(line, base.lines + 1);
  if (end.lines < linesNeeded) return { mark: count, skip: 0 };
  // Binary search for the first mark with enough line feeds: `above` has enough, `below` has not.
  let [below, above] = [0, count];
  while (above - below > 1) {
    const middle = (below + above) >> 1;
    const mark = await readMark(index, middle);
    if (mark === null) return { mark: count, skip: 0 };
    if (mark.lines >= linesNeeded) above = middle;
    else below = middle;
  }
  const [before, after] = [await readMark(index, below), await readMark(index, above)];
  if (before === null || after === null) return { mark: count, skip: 0 };
  const chunk = await readAt(text, before.byte - base.byte, after.byte - before.byte);
  return { mark: below, skip: afterFeed(chunk, linesNeeded - before.lines) };
}

async function* blocksOf(
  { index, text }: Files,
  { base, count }: Segment,
  { mark, skip }: { readonly mark: number; readonly skip: number },
): AsyncGenerator<Block, void> {
  let done = mark;
  let byte = ((await readMark(index, mark)) ?? base).byte + skip;
  let buffer = Buffer.alloc(0);
  while (done < count) {
    const records = await readAt(
      index,
      (done + 1) * markBytes,
      Math.min(marksPerRead, count - done) * markBytes,
    );
    const marks: Mark[] = [];
    let end = byte;
    while (end - byte < blockBytes) {
      const next = decodeMark(records, marks.length);
      if (next === null) break;
      marks.push(next);
      end = next.byte;
    }
    if (marks.length === 0) return;
    if (buffer.length < end - byte) buffer = Buffer.allocUnsafe(Math.max(end - byte, blockBytes));
    yield { text: await readAt(text, byte - base.byte, end - byte, buffer), byte, marks };
    done += marks.length;
    byte = end;
  }
}

async function readAt(
  file: FileHandle,
  position: number,
  length: number,
  buffer = Buffer.allocUnsafe(length),
): Promise<Buffer> {
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

/** Splits consecutive blocks into lines. `first` is the number of the line at the start of the first block. */
export function createLineSplitter(first: number, maxBytes: number) {
  const fold = createLineFold(maxBytes);
  let line = first;
  let isWithin = false;
  return {
    /** Whether the next block continues an unfinished line. */
    isWithin: () => isWithin,
    take({ text, byte, marks }: Block): readonly StoredLine[] {
      const lines: StoredLine[] = [];
      let from = 0;
      let markIndex = 0;
      for (let end = nextFeed(text, 0); end !== -1; end = nextFeed(text, from)) {
        let mark = marks[markIndex];
        while (mark !== undefined && mark.byte - byte <= end) {
          markIndex += 1;
          mark = marks[markIndex];
        }
        const piece = text.subarray(from, end);
        if (isWithin) fold.add(piece);
        const folded = isWithin ? fold.line() : foldLine(piece, maxBytes);
        const isNote = mark !== undefined && mark.isLost && line === mark.lines - 1;
        lines.push({ line, at: mark?.at ?? 0, ...folded, isNote });
        fold.clear();
        isWithin = false;
        line += 1;
        from = end + 1;
      }
      if (from < text.length) {
        fold.add(text.subarray(from));
        isWithin = true;
      }
      return lines;
    },
    /** Skips a block without splitting it into lines. */
    skip({ text, marks }: Block): void {
      line = marks.at(-1)?.lines ?? line;
      fold.clear();
      const rest = text.subarray(text.lastIndexOf(0x0a) + 1);
      fold.add(rest);
      isWithin = rest.length > 0;
    },
  };
}

/** Yields the complete lines from `from` on, in batches. Cuts lines to `maxBytes`. */
export async function* linesFrom(
  snapshot: Snapshot,
  from: number,
  maxBytes: number,
): AsyncGenerator<readonly StoredLine[], void> {
  const first = Math.max(from, firstLineOf(snapshot));
  const splitter = createLineSplitter(first, maxBytes);
  for await (const block of blocksFrom(snapshot, first)) {
    const lines = splitter.take(block);
    if (lines.length > 0) yield lines;
  }
}
