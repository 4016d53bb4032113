import { open, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { decodeMark, type Mark, markBytes } from './log-index.ts';

/** A part of a log: a file of text, and one with a mark for each chunk of it behind the one for what was before. */
export interface Segment {
  readonly number: number;
  readonly base: Mark;
  /** Of marks behind that one. */
  readonly count: number;
  readonly end: Mark;
}

export const textFile = (folder: string, number: number): string => join(folder, `${nameOf(number)}.text`);
export const indexFile = (folder: string, number: number): string => join(folder, `${nameOf(number)}.index`);
const nameOf = (number: number): string => String(number).padStart(6, '0');

/** What it takes up. */
export const sizeOf = ({ base, end, count }: Segment): number =>
  end.byte - base.byte + (count + 1) * markBytes;

/**
 * The segments of a log, oldest first, as far as they fit to each other. The index is what counts: of the newest segment a torn mark
 * is cut off, and so is text for which there is none, and every mark whose text is not there as it was written. Older ones were
 * whole on the disk before a newer one was begun.
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
      newer === undefined ? await mendSegment(folder, number) : await readSegment(folder, number);
    // Made, and not yet written to: as if it had never been.
    if (segment === null && newer === undefined) await removeSegment(folder, number);
    else if (segment === null || (newer !== undefined && segment.end.byte !== newer.base.byte)) break;
    else segments.unshift(segment);
  }
  return segments;
}

export async function removeSegment(folder: string, number: number): Promise<void> {
  // Without its index it is none, should this be cut off in between.
  await rm(indexFile(folder, number), { force: true });
  await rm(textFile(folder, number), { force: true });
}

/** One that may have been written to when the power went. */
async function mendSegment(folder: string, number: number): Promise<Segment | null> {
  const index = await readFile(indexFile(folder, number));
  const text = await readFile(textFile(folder, number)).catch(() => Buffer.alloc(0));
  const base = decodeMark(index);
  if (base === null) return null;
  let [end, count] = [base, 0];
  for (;;) {
    const next = decodeMark(index, count + 1);
    if (next === null || !isText(text.subarray(end.byte - base.byte, next.byte - base.byte), end, next))
      break;
    [end, count] = [next, count + 1];
  }
  if (index.length > (count + 1) * markBytes)
    await truncate(indexFile(folder, number), (count + 1) * markBytes);
  if (text.length > end.byte - base.byte) await truncate(textFile(folder, number), end.byte - base.byte);
  return { number, base, count, end };
}

const isText = (text: Buffer, before: Mark, after: Mark): boolean =>
  text.length === after.byte - before.byte && crc32(text) === after.sum;

/** One that was finished; null when it is not whole. */
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

/** Null for none, or a torn one. */
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
