import { crc32 } from 'node:zlib';

/** State of a log after a chunk. A segment has one mark per chunk, plus one for the state before its first chunk. */
export interface Mark {
  /** Position in the trainer's output, in bytes. */
  readonly place: number;
  /** Position in the stored text since its beginning, in bytes. */
  readonly byte: number;
  /** Number of line feeds in that text. */
  readonly lines: number;
  /** Wall clock time of arrival, in milliseconds. */
  readonly at: number;
  /** The text ends in the middle of a line. */
  readonly isOpen: boolean;
  /** The last line is a notice about lost output. */
  readonly isLost: boolean;
  /** The log is complete. */
  readonly isLast: boolean;
  /** CRC-32 of the text since the previous mark. */
  readonly sum: number;
}

/** Size of a mark. All have the same size, so that a line's mark is found without reading the others. */
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
