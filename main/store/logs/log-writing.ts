import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { LogPiece } from '../../orchestrator/ports/index.ts';
import { countFeeds, createLineFold, lastFeed, type FoldedLine } from './log-line.ts';
import { blocksFrom, type Snapshot } from './log-reading.ts';
import {
  indexFile,
  readSegments,
  removeSegment,
  type Segment,
  sizeOf,
  textFile,
  beginning,
  encodeMark,
  type Mark,
  markBytes,
} from './log-segments.ts';
import { syncFolder } from '../db/sync.ts';

export interface LogBounds {
  /** Maximum size of a log in bytes, including its index. The newest segment stays, whatever its size. */
  readonly ofLog: number;
  /** Size in bytes at which a segment is full, so that the next chunk starts a new segment. */
  readonly ofSegment: number;
  /** Maximum bytes to return of an unfinished line. */
  readonly ofLine: number;
}

/** A log whose files were checked when it was opened. Open each log only once, because it must be the only writer. */
export interface OpenLog extends Snapshot {
  readonly head: Mark;
  /** Returns the unfinished last line, or null. */
  openLine(): FoldedLine | null;
  /** Appends the next piece. After a failure, the state on disk is unknown, so the log must be reopened. */
  append(piece: LogPiece, at: number): Promise<void>;
  /** Syncs what was appended and closes the files until the next append. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface Files {
  readonly index: FileHandle;
  readonly text: FileHandle;
}

/** Text that is written together and gets one mark. */
interface Chunk {
  readonly text: Buffer;
  readonly place: number;
  readonly isLost: boolean;
  readonly isLast: boolean;
}

/** Opens the log in a folder, and repairs its newest segment if needed. The first append creates the files of a new log. */
export async function openLog(folder: string, bounds: LogBounds): Promise<OpenLog> {
  let segments = await readSegments(folder);
  let head = segments.at(-1)?.end ?? beginning;
  const writer = createSegmentWriter(folder);
  const fold = createLineFold(bounds.ofLine);
  await readOpenLine({ folder, segments }, head, fold.add);

  const write = async (chunk: Chunk, at: number): Promise<void> => {
    const last = segments.at(-1);
    if (last === undefined || sizeOf(last) >= bounds.ofSegment)
      segments = [...segments, await writer.begin(last ?? null, head)];
    const segment = segments.at(-1);
    if (segment === undefined) throw new Error('a log without a segment was written to');
    const next = markAfter(head, chunk, at);
    await writer.write(segment, chunk.text, next);
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
      if (piece.from > head.place) await write(lossNotice(head, piece), at);
      await write(chunkOf(head, piece), at);
      await makeRoom();
    },
    sync: writer.sync,
    close: writer.close,
  };
}

/** Manages the open files of the newest segment. */
function createSegmentWriter(folder: string) {
  let files: Files | null = null;
  let hasNewFiles = false;
  const close = async (): Promise<void> => {
    const closing = files;
    files = null;
    await closing?.text.close();
    await closing?.index.close();
  };
  const sync = async (): Promise<void> => {
    if (files === null) return;
    // Text first, so that no mark exists without its text.
    await files.text.datasync();
    await files.index.datasync();
    await close();
    if (!hasNewFiles) return;
    hasNewFiles = false;
    for (const each of [folder, join(folder, '..'), join(folder, '../..')]) await syncFolder(each);
  };
  return {
    sync,
    close,
    /** Starts a new segment after syncing the previous one. */
    async begin(last: Segment | null, base: Mark): Promise<Segment> {
      if (last !== null) {
        files ??= await openFiles(folder, last.number);
        await sync();
      }
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const segment: Segment = { number: (last?.number ?? -1) + 1, base, count: 0, end: base };
      files = await openFiles(folder, segment.number, O_TRUNC);
      hasNewFiles = true;
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

/** Returns a notice, on a separate line, that replaces lost output. */
function lossNotice({ place, isOpen }: Mark, { from }: LogPiece): Chunk {
  const note = `[trainyard] ${from - place} bytes of the output are lost: they were gone from the rig before they could be sent\n`;
  return { text: Buffer.from(isOpen ? `\n${note}` : note), place: from, isLost: true, isLast: false };
}

/** Ends the last line of a complete log with a line feed, even if the trainer printed none. */
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
