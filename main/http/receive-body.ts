import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import type { FileEnd } from '../orchestrator/ports.ts';
import type { Digests, UploadPlan } from './upload-plan.ts';

/** How slowly an upload may come: in each such span at least so many bytes, or what is left. */
export interface Pace {
  readonly spanMs: number;
  readonly leastBytes: number;
}

/** Slower than any line that somebody would send a checkpoint over; faster than who only wants to hold a place. */
export const pace: Pace = { spanMs: 60_000, leastBytes: 65_536 };

export type Arrival =
  | { readonly kind: 'whole'; readonly digests: Digests & { readonly sha256: string } }
  /** The connection broke, came to a stop, or was cut off. */
  | { readonly kind: 'broken'; readonly bytes: number };

/** Its body is so long, and what is said of it is to be compared. */
type Awaited = Pick<UploadPlan, 'length' | 'ofBody'>;

/**
 * Brings the body of a request to the end of a file, as fast as the disk takes it, and never holds more of it than a piece. What
 * the disk says is thrown. Its SHA-256 is always worked out; the other digests cost the one thread too much to be known for nothing.
 */
export async function receiveBody(
  request: IncomingMessage,
  { length, ofBody }: Awaited,
  end: FileEnd,
  { spanMs, leastBytes }: Pace,
): Promise<Arrival> {
  const sha256 = createHash('sha256');
  const md5 = ofBody.md5 === undefined ? null : createHash('md5');
  let crc = 0;
  let bytes = 0;
  let seen = 0;
  const look = setInterval(() => {
    if (bytes - seen < leastBytes) request.destroy();
    seen = bytes;
  }, spanMs);
  try {
    // Refusing after a piece is still possible: the connection stays.
    const pieces: AsyncIterable<Uint8Array> = request.iterator({ destroyOnReturn: false });
    for await (const piece of pieces) {
      sha256.update(piece);
      md5?.update(piece);
      if (ofBody.crc32 !== undefined) crc = crc32(piece, crc);
      await end.write(piece);
      bytes += piece.length;
    }
  } catch (cause) {
    // Else it is the disk that failed.
    if (!request.destroyed || isOfDisk(cause)) throw cause;
  } finally {
    clearInterval(look);
  }
  if (bytes !== length) return { kind: 'broken', bytes };
  const digests = {
    sha256: sha256.digest('hex'),
    ...(md5 !== null && { md5: md5.digest('hex') }),
    ...(ofBody.crc32 !== undefined && { crc32: (crc >>> 0).toString(16).padStart(8, '0') }),
  };
  return { kind: 'whole', digests };
}

/** Calls of the file system name themselves. */
const isOfDisk = (cause: unknown): boolean =>
  cause instanceof Error && 'syscall' in cause && cause.syscall === 'write';
