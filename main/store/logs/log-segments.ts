import { open, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** State of a log after a chunk. A segment has one mark per chunk, plus one for the state before its first chunk. */
export interface Mark {
  /** Position in the trainer's output, in bytes. */
  readonly place: number;
  /** Offset in the stored text, in bytes. Text that was removed to make space counts, too. */
  readonly byte: number;
  /** Number of line feeds before that offset. */
  readonly lines: number;
  /** Wall clock time of arrival, in milliseconds. */
  readonly at: number;
  /** Whether the text ends in the middle of a line. */
  readonly isOpen: boolean;
  /** Whether the last line is a notice about lost output. */
  readonly isLost: boolean;
  /** Whether the log is complete. */
  readonly isLast: boolean;
  /** CRC-32 of the text since the previous mark. */
  readonly sum: number;
}

/** Size of an encoded mark. All marks have this size, so that a mark can be read by its number. */
export const markBytes = 44;

/** The state of an empty log. */
export const beginning: Mark = {
  place: 0,
  byte: 0,
  lines: 0,
  at: 0,
  isOpen: false,
  isLost: false,
  isLast: false,
  sum: 0,
};

const flags = { open: 1, lost: 2, last: 4 };

/** Encodes a mark in `markBytes` bytes. The last four are a checksum, by which `decodeMark` detects a torn record. */
export function encodeMark(mark: Mark): Buffer {
  const { place, byte, lines, at, isOpen, isLost, isLast, sum } = mark;
  const record = Buffer.alloc(markBytes);
  [place, byte, lines, at].forEach((value, n) => record.writeDoubleBE(value, n * 8));
  record.writeUInt32BE((isOpen ? flags.open : 0) | (isLost ? flags.lost : 0) | (isLast ? flags.last : 0), 32);
  record.writeUInt32BE(sum, 36);
  record.writeUInt32BE(crc32(record.subarray(0, 40)), 40);
  return record;
}

/** Decodes record number `n` of `records`; null when it is missing or torn. */
export function decodeMark(records: Buffer, n = 0): Mark | null {
  const record = records.subarray(n * markBytes, (n + 1) * markBytes);
  if (record.length < markBytes || crc32(record.subarray(0, 40)) !== record.readUInt32BE(40)) return null;
  const flag = record.readUInt32BE(32);
  return {
    place: record.readDoubleBE(0),
    byte: record.readDoubleBE(8),
    lines: record.readDoubleBE(16),
    at: record.readDoubleBE(24),
    isOpen: (flag & flags.open) !== 0,
    isLost: (flag & flags.lost) !== 0,
    isLast: (flag & flags.last) !== 0,
    sum: record.readUInt32BE(36),
  };
}

/** A part of a log: a text file, and an index file with one mark for the state before the segment and one per chunk. */
export interface Segment {
  readonly number: number;
  readonly base: Mark;
  /** Number of marks after `base`. */
  readonly count: number;
  readonly end: Mark;
}

export const textFile = (folder: string, number: number): string => join(folder, `${nameOf(number)}.text`);
export const indexFile = (folder: string, number: number): string => join(folder, `${nameOf(number)}.index`);
const nameOf = (number: number): string => String(number).padStart(6, '0');

/** Returns the size on disk, in bytes. */
export const sizeOf = ({ base, end, count }: Segment): number =>
  end.byte - base.byte + (count + 1) * markBytes;

/**
 * Returns the segments of a log, oldest first. Leaves out segments that are older than a gap. Repairs the newest
 * segment: cuts off a torn mark, marks whose text does not match, and text without a mark. Older segments need no repair,
 * because they were synced before a newer one was started.
 */
export async function readSegments(folder: string): Promise<readonly Segment[]> {
  const names = await readdir(folder).catch(noneIfMissing);
  const numbers = names
    .map(name => /^(\d{6,})\.index$/.exec(name)?.[1])
    .filter(digits => digits !== undefined)
    .map(Number)
    .toSorted((a, b) => b - a);
  const segments: Segment[] = [];
  for (const number of numbers) {
    const newer = segments[0];
    const segment =
      newer === undefined ? await repairSegment(folder, number) : await readSegment(folder, number);
    // The segment was created but never written, so remove it.
    if (segment === null && newer === undefined) await removeSegment(folder, number);
    else if (segment === null || (newer !== undefined && segment.end.byte !== newer.base.byte)) break;
    else segments.unshift(segment);
  }
  return segments;
}

export async function removeSegment(folder: string, number: number): Promise<void> {
  // The index goes first: after a crash between the two removals, the text alone does not count as a segment.
  await rm(indexFile(folder, number), { force: true });
  await rm(textFile(folder, number), { force: true });
}

/** Repairs a segment that may have been in use during a power failure. */
async function repairSegment(folder: string, number: number): Promise<Segment | null> {
  const index = await readFile(indexFile(folder, number));
  const text = await readFile(textFile(folder, number)).catch(() => Buffer.alloc(0));
  const base = decodeMark(index);
  if (base === null) return null;
  let [end, count] = [base, 0];
  for (;;) {
    const next = decodeMark(index, count + 1);
    if (next === null || !matchesMark(text.subarray(end.byte - base.byte, next.byte - base.byte), end, next))
      break;
    [end, count] = [next, count + 1];
  }
  if (index.length > (count + 1) * markBytes)
    await truncate(indexFile(folder, number), (count + 1) * markBytes);
  if (text.length > end.byte - base.byte) await truncate(textFile(folder, number), end.byte - base.byte);
  return { number, base, count, end };
}

const matchesMark = (text: Buffer, before: Mark, after: Mark): boolean =>
  text.length === after.byte - before.byte && crc32(text) === after.sum;

/** Reads a finished segment; null when it is incomplete. */
async function readSegment(folder: string, number: number): Promise<Segment | null> {
  const size = await stat(textFile(folder, number)).then(
    ({ size: bytes }) => bytes,
    () => 0,
  );
  const file = await open(indexFile(folder, number), 'r');
  try {
    const count = Math.floor((await file.stat()).size / markBytes) - 1;
    const base = await readMark(file, 0);
    const end = await readMark(file, count);
    return base === null || end === null || size < end.byte - base.byte ? null : { number, base, count, end };
  } finally {
    await file.close();
  }
}

interface Readable {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
}

/** Returns null for a missing or torn mark. */
export async function readMark(file: Readable, n: number): Promise<Mark | null> {
  if (n < 0) return null;
  const record = Buffer.alloc(markBytes);
  const { bytesRead } = await file.read(record, 0, markBytes, n * markBytes);
  return decodeMark(record.subarray(0, bytesRead));
}

export function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

function noneIfMissing(cause: unknown): string[] {
  if (isMissing(cause)) return [];
  throw cause;
}
