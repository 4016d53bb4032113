import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { LogPiece } from '../orchestrator/ports.ts';
import { beginning, encodeMark, type Mark, markBytes } from './log-index.ts';
import { countFeeds, createLineFold, lastFeed, type FoldedLine } from './log-line.ts';
import { blocksFrom, type Snapshot } from './log-reading.ts';
import { indexFile, readSegments, removeSegment, type Segment, sizeOf, textFile } from './log-segments.ts';
import { syncFolder } from './sync.ts';

export interface LogBounds {
  /** What a log may take up, its index included. Its newest segment stays, whatever its size. */
  readonly ofLog: number;
  readonly ofSegment: number;
  /** Of the line that has not ended, as it is shown. */
  readonly ofLine: number;
}

/** A log whose files were looked through: who has it is the only one to write. */
export interface OpenLog extends Snapshot {
  readonly head: Mark;
  openLine(): FoldedLine | null;
  /** A piece that is what follows. Of one that fails nobody knows how much is there: the log has to be opened anew. */
  append(piece: LogPiece, at: number): Promise<void>;
  /** The disk has what was appended, and no file is open until there is more. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface Files {
  readonly index: FileHandle;
  readonly text: FileHandle;
}

/** What is written at once for one mark. */
interface Chunk {
  readonly text: Buffer;
  readonly place: number;
  readonly isLost: boolean;
  readonly isLast: boolean;
}

export async function openLog(folder: string, bounds: LogBounds): Promise<OpenLog> {
  let segments = await readSegments(folder);
  let head = segments.at(-1)?.end ?? beginning;
  const end = createEnd(folder);
  const fold = createLineFold(bounds.ofLine);
  await readOpenLine({ folder, segments }, head, fold.add);

  const write = async (chunk: Chunk, at: number): Promise<void> => {
    const last = segments.at(-1);
    if (last === undefined || sizeOf(last) >= bounds.ofSegment)
      segments = [...segments, await end.begin(last ?? null, head)];
    const segment = segments.at(-1);
    if (segment === undefined) throw new Error('a log without a segment was written to');
    const next = markAfter(head, chunk, at);
    await end.write(segment, chunk.text, next);
    segments = [...segments.slice(0, -1), { ...segment, count: segment.count + 1, end: next }];
    head = next;
    const feed = lastFeed(chunk.text);
    if (feed !== -1) fold.clear();
    fold.add(chunk.text.subarray(feed + 1));
  };
  const makeRoom = async (): Promise<void> => {
    let [first] = segments;
    let bytes = segments.reduce((sum, segment) => sum + sizeOf(segment), 0);
    while (first !== undefined && segments.length > 1 && bytes > bounds.ofLog) {
      bytes -= sizeOf(first);
      segments = segments.slice(1);
      await removeSegment(folder, first.number);
      [first] = segments;
    }
  };
  return {
    folder,
    get segments() {
      return segments;
    },
    get head() {
      return head;
    },
    openLine: () => (head.isOpen ? fold.line() : null),
    async append(piece, at) {
      if (piece.from > head.place) await write(noteOf(head, piece), at);
      await write(chunkOf(head, piece), at);
      await makeRoom();
    },
    sync: end.sync,
    close: end.close,
  };
}

/** The newest segment, as far as it is open to be written to. */
function createEnd(folder: string) {
  let files: Files | null = null;
  let hasNewNames = false;
  const close = async (): Promise<void> => {
    const closing = files;
    files = null;
    await closing?.text.close();
    await closing?.index.close();
  };
  const sync = async (): Promise<void> => {
    if (files === null) return;
    // In this order, so that no mark is there without its text.
    await files.text.datasync();
    await files.index.datasync();
    await close();
    if (!hasNewNames) return;
    hasNewNames = false;
    for (const each of [folder, join(folder, '..'), join(folder, '../..')]) await syncFolder(each);
  };
  return {
    sync,
    close,
    /** A new one, behind what is whole on the disk by then. */
    async begin(last: Segment | null, base: Mark): Promise<Segment> {
      if (last !== null) {
        files ??= await openFiles(folder, last.number);
        await sync();
      }
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const segment: Segment = { number: (last?.number ?? -1) + 1, base, count: 0, end: base };
      files = await openFiles(folder, segment.number, O_TRUNC);
      hasNewNames = true;
      await writeAll(files.index, encodeMark(base), 0);
      return segment;
    },
    async write({ number, base, count, end }: Segment, text: Buffer, next: Mark): Promise<void> {
      files ??= await openFiles(folder, number);
      await writeAll(files.text, text, end.byte - base.byte);
      await writeAll(files.index, encodeMark(next), (count + 1) * markBytes);
    },
  };
}

/** In a line of its own, in the place of what did not come. */
function noteOf({ place, isOpen }: Mark, { from }: LogPiece): Chunk {
  const note = `[trainyard] ${from - place} bytes of the output are lost: they were gone from the rig before they could be sent\n`;
  return { text: Buffer.from(isOpen ? `\n${note}` : note), place: from, isLost: true, isLast: false };
}

/** The last line has ended with the log, whether there is a line feed or not. */
function chunkOf({ isOpen }: Mark, { text, to, isLast }: LogPiece): Chunk {
  const endsOpen = text === '' ? isOpen : !text.endsWith('\n');
  return { text: Buffer.from(isLast && endsOpen ? `${text}\n` : text), place: to, isLost: false, isLast };
}

const markAfter = (head: Mark, { text, place, isLost, isLast }: Chunk, at: number): Mark => ({
  place,
  byte: head.byte + text.length,
  lines: head.lines + countFeeds(text),
  at,
  isOpen: text.length === 0 ? head.isOpen : text.at(-1) !== 0x0a,
  isLost,
  isLast,
  sum: crc32(text),
});

async function readOpenLine(snapshot: Snapshot, head: Mark, add: (piece: Buffer) => void): Promise<void> {
  if (!head.isOpen) return;
  for await (const { text } of blocksFrom(snapshot, head.lines)) add(text);
}

const { O_CREAT, O_TRUNC, O_WRONLY } = constants;

async function openFiles(folder: string, number: number, more = 0): Promise<Files> {
  const flags = O_WRONLY | O_CREAT | more;
  const text = await open(textFile(folder, number), flags, 0o600);
  try {
    return { text, index: await open(indexFile(folder, number), flags, 0o600) };
  } catch (cause) {
    await text.close();
    throw cause;
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}
