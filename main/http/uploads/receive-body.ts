import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import type { FileEnd } from '../../orchestrator/ports/index.ts';
import type { Digests, UploadPlan } from './upload-plan.ts';

/** Minimum speed of an upload: in each time span at least this many bytes, or the rest of the body. */
export interface Pace {
  readonly spanMs: number;
  readonly minBytes: number;
}

/** Any connection that is usable for uploads is faster. A client that occupies a slot only to block other clients is slower. */
export const pace: Pace = { spanMs: 60_000, minBytes: 65_536 };

export type Arrival =
  | { readonly kind: 'whole'; readonly digests: Digests }
  /** The connection broke, stalled, or was closed because it was too slow. */
  | { readonly kind: 'broken'; readonly bytes: number };

/** The announced length of the body, and its announced digests. */
type AnnouncedBody = Pick<UploadPlan, 'length' | 'ofBody'>;

/** Large enough that a write costs little, small enough for hundreds of concurrent uploads. */
const bufferBytes = 262_144;

/**
 * Collects pieces while a write is in progress, so that small pieces become large writes. The pieces are copied to two
 * alternating buffers, because objects that live as long as a write are expensive to collect. A failed write rejects the next
 * call.
 */
function createBufferedWriter(file: Pick<FileEnd, 'write'>) {
  let [filling, other] = [Buffer.allocUnsafeSlow(bufferBytes), Buffer.allocUnsafeSlow(bufferBytes)];
  let bytes = 0;
  let writing: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    while (bytes > 0) {
      const full = filling.subarray(0, bytes);
      [filling, other] = [other, filling];
      bytes = 0;
      await file.write(full);
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
 * Appends the body of a request to a file, at the speed of the disk and with little memory. Throws errors of the disk. `hash`
 * covers the file so far, and is updated with the body. Only the announced digests of the body are computed, because they
 * block the event loop.
 */
export async function receiveBody(
  request: IncomingMessage,
  { length, ofBody }: AnnouncedBody,
  end: Pick<FileEnd, 'write'>,
  { pace: { spanMs, minBytes }, hash }: { readonly pace: Pace; readonly hash: Hash | null },
): Promise<Arrival> {
  const sha256 = ofBody.sha256 === undefined ? null : createHash('sha256');
  const md5 = ofBody.md5 === undefined ? null : createHash('md5');
  const writer = createBufferedWriter(end);
  let crc = 0;
  let bytes = 0;
  let bytesAtLastCheck = 0;
  const paceTimer = setInterval(() => {
    if (bytes - bytesAtLastCheck < minBytes) request.destroy();
    bytesAtLastCheck = bytes;
  }, spanMs);
  try {
    // The connection stays open after the loop, so that a refusal can still be sent.
    const pieces: AsyncIterable<Uint8Array> = request.iterator({ destroyOnReturn: false });
    for await (const piece of pieces) {
      hash?.update(piece);
      sha256?.update(piece);
      md5?.update(piece);
      if (ofBody.crc32 !== undefined) crc = crc32(piece, crc);
      await writer.write(piece);
      bytes += piece.length;
    }
  } catch (cause) {
    // If the request was not destroyed, the disk has failed.
    if (!request.destroyed || isDiskError(cause)) throw cause;
  } finally {
    clearInterval(paceTimer);
  }
  await writer.end();
  if (bytes !== length) return { kind: 'broken', bytes };
  const digests = {
    ...(sha256 !== null && { sha256: sha256.digest('hex') }),
    ...(md5 !== null && { md5: md5.digest('hex') }),
    ...(ofBody.crc32 !== undefined && { crc32: (crc >>> 0).toString(16).padStart(8, '0') }),
  };
  return { kind: 'whole', digests };
}

/** Returns true for an error of the file system, which contains the name of the system call. */
const isDiskError = (cause: unknown): boolean =>
  cause instanceof Error && 'syscall' in cause && cause.syscall === 'write';
