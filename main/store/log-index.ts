import { crc32 } from 'node:zlib';

/** How far a log is: one of these for each chunk, and one for what was there before the first of its segment. */
export interface Mark {
  /** In what the trainer has printed, in bytes. */
  readonly place: number;
  /** In the text that was kept of it since its beginning, in bytes. */
  readonly byte: number;
  /** Line feeds in that text. */
  readonly lines: number;
  /** When it came: wall clock, in ms. */
  readonly at: number;
  /** The text ends within a line. */
  readonly isOpen: boolean;
  /** The last line of it is a note of what is lost. */
  readonly isLost: boolean;
  /** There will be no more. */
  readonly isLast: boolean;
  /** CRC-32 of the text since the mark before. */
  readonly sum: number;
}

/** All are of one size, so that the one for a line is found without reading the others. */
export const markBytes = 44;

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

export function encodeMark(mark: Mark): Buffer {
  const { place, byte, lines, at, isOpen, isLost, isLast, sum } = mark;
  const record = Buffer.alloc(markBytes);
  [place, byte, lines, at].forEach((value, n) => record.writeDoubleBE(value, n * 8));
  record.writeUInt32BE((isOpen ? flags.open : 0) | (isLost ? flags.lost : 0) | (isLast ? flags.last : 0), 32);
  record.writeUInt32BE(sum, 36);
  record.writeUInt32BE(crc32(record.subarray(0, 40)), 40);
  return record;
}

/** The record with this number of those in `records`; null for a torn one, or none. */
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
