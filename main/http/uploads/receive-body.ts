import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import type { FileEnd } from '../../orchestrator/ports/index.ts';
import type { Digests, UploadPlan } from './upload-plan.ts';

/** How slowly an upload may come: in each such span at least so many bytes, or what is left. */
export interface Pace {
  readonly spanMs: number;
  readonly minBytes: number;
}

/** Slower than any line that somebody would send a checkpoint over; faster than who only wants to hold a place. */
export const pace: Pace = { spanMs: 60_000, minBytes: 65_536 };

export type Arrival =
  | { readonly kind: 'whole'; readonly digests: Digests }
  /** The connection broke, came to a stop, or was cut off. */
  | { readonly kind: 'broken'; readonly bytes: number };

/** Its body is so long, and what is said of it is to be compared. */
type Awaited = Pick<UploadPlan, 'length' | 'ofBody'>;

/** Large enough that a write costs little, small enough for hundreds of uploads at once. */
const bufferBytes = 262_144;

/**
 * Writes what has come while the write before was under way, so that small pieces make large writes. The pieces are copied into two buffers
 * in turns: pieces that live until they are written are expensive to collect. A failed write rejects the next call.
 */
function inPortions(end: Pick<FileEnd, 'write'>) {
  let [filling, other] = [Buffer.allocUnsafeSlow(bufferBytes), Buffer.allocUnsafeSlow(bufferBytes)];
  let bytes = 0;
  let writing: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    while (bytes > 0) {
      const full = filling.subarray(0, bytes);
      [filling, other] = [other, filling];
      bytes = 0;
      await end.write(full);
    }
    writing = null;
  };
  return {
    async write(piece: Uint8Array): Promise<void> {
      for (let done = 0; done < piece.length; ) {
        if (bytes === bufferBytes) await writing;
        const some = piece.subarray(done, done + bufferBytes - bytes);
        filling.set(some, bytes);
        bytes += some.length;
        done += some.length;
        if (writing === null) {
          writing = run();
          writing.catch(() => undefined);
        }
      }
    },
    async end(): Promise<void> {
      await writing;
    },
  };
}

/**
 * Appends the body of a request to a file, at the speed of the disk and with little memory. Throws errors of the disk.
 * `file` is the hash of the file so far, which is updated with the body. Only the digests that the request has announced are
 * computed, because they take time of the only thread.
 */
export async function receiveBody(
  request: IncomingMessage,
  { length, ofBody }: Awaited,
  end: Pick<FileEnd, 'write'>,
  { pace: { spanMs, minBytes }, file }: { readonly pace: Pace; readonly file: Hash | null },
): Promise<Arrival> {
  const sha256 = ofBody.sha256 === undefined ? null : createHash('sha256');
  const md5 = ofBody.md5 === undefined ? null : createHash('md5');
  const portions = inPortions(end);
  let crc = 0;
  let bytes = 0;
  let seen = 0;
  const paceTimer = setInterval(() => {
    if (bytes - seen < minBytes) request.destroy();
    seen = bytes;
  }, spanMs);
  try {
    // Refusing after a piece is still possible: the connection stays.
    const pieces: AsyncIterable<Uint8Array> = request.iterator({ destroyOnReturn: false });
    for await (const piece of pieces) {
      file?.update(piece);
      sha256?.update(piece);
      md5?.update(piece);
      if (ofBody.crc32 !== undefined) crc = crc32(piece, crc);
      await portions.write(piece);
      bytes += piece.length;
    }
  } catch (cause) {
    // Else it is the disk that failed.
    if (!request.destroyed || isOfDisk(cause)) throw cause;
  } finally {
    clearInterval(paceTimer);
  }
  await portions.end();
  if (bytes !== length) return { kind: 'broken', bytes };
  const digests = {
    ...(sha256 !== null && { sha256: sha256.digest('hex') }),
    ...(md5 !== null && { md5: md5.digest('hex') }),
    ...(ofBody.crc32 !== undefined && { crc32: (crc >>> 0).toString(16).padStart(8, '0') }),
  };
  return { kind: 'whole', digests };
}

/** Calls of the file system name themselves. */
const isOfDisk = (cause: unknown): boolean =>
  cause instanceof Error && 'syscall' in cause && cause.syscall === 'write';
