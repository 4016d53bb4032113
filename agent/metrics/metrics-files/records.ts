import { maskedCrc32c } from './crc32c.ts';

/**
 * One record of a TFRecord file, which is how event files are framed (little-endian):
 *
 *     uint64 length | uint32 masked crc32c of the length | data | uint32 masked crc32c of the data
 */
export type RecordOutcome =
  | { readonly kind: 'record'; readonly data: Uint8Array; readonly bytes: number }
  /** The record is `bytes` long, frame included, and larger than the limit: the caller moves past it. */
  | { readonly kind: 'too_large'; readonly bytes: number }
  /** The record is complete once `bytes` are there. */
  | { readonly kind: 'needs_more'; readonly bytes: number }
  | { readonly kind: 'corrupt'; readonly why: string };

const headerBytes = 12;
const frameBytes = headerBytes + 4;

/** Reads the record at the beginning of `bytes`. Allocates nothing, whatever length the record claims. */
export function readRecord(bytes: Uint8Array, maxDataBytes: number): RecordOutcome {
  if (bytes.length < headerBytes) return { kind: 'needs_more', bytes: headerBytes };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(8, true) !== maskedCrc32c(bytes.subarray(0, 8)))
    return { kind: 'corrupt', why: 'the checksum of a length does not match' };
  const length = Number(view.getBigUint64(0, true));
  if (!Number.isSafeInteger(length)) return { kind: 'corrupt', why: 'a record claims an impossible length' };
  const whole = length + frameBytes;
  if (length > maxDataBytes) return { kind: 'too_large', bytes: whole };
  if (bytes.length < whole) return { kind: 'needs_more', bytes: whole };
  const data = bytes.subarray(headerBytes, headerBytes + length);
  if (view.getUint32(headerBytes + length, true) !== maskedCrc32c(data))
    return { kind: 'corrupt', why: 'the checksum of a record does not match' };
  return { kind: 'record', data, bytes: whole };
}
