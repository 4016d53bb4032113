import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import type { RunningDigest } from '../files/file-digest.ts';
import type { StreamBody } from '../connection/http-fetch.ts';
import type { Found } from './outputs.ts';
import { describeUploadFailure, reasonOf } from '../files/failure-text.ts';
import { decide, type Decisions, type Failure, waits } from '../retry/decisions.ts';
import { retry, type RetryAnswer } from '../retry/retry.ts';
import type { Storage } from './storage.ts';
import type { Answered } from './upload-token.ts';

/** The content to upload. */
interface Whole {
  readonly key: string;
  readonly bytes: number;
  /** A running digest is computed during the upload, and sent with the last part. */
  readonly sha256: string | RunningDigest;
}

/** A file as the scan found it. */
export interface Source extends Found, Whole {
  readonly path: string;
}

/** Reads the bytes of the content. */
interface Reading {
  /** Returns the bytes from offset `first` up to offset `end`, which is not included. */
  bodyFrom(first: number, end: number): StreamBody;
  /** Returns why a read failed; null when none did. */
  trouble(): string | null;
  /** Whether the content is unchanged since the scan. */
  isSame(): Promise<boolean>;
}

/**
 * `changed`: the file has changed or was removed. `over`: the attempt may not upload now. `closed`: the attempt may never
 * upload again. `no_room`: the server or a proxy rejects this file now, but may accept it later. `refused`: the server
 * never accepts this file. `aborted`: the signal fired.
 */
export type UploadEnd =
  | { readonly kind: 'uploaded' | 'changed' | 'over' | 'closed' | 'aborted' }
  | { readonly kind: 'no_room' | 'refused'; readonly why: string };

export interface UploadDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** In bytes. A file larger than `wholeUpTo` is sent in parts of size `part`. Only tests set these sizes. */
  readonly sizes?: { readonly wholeUpTo: number; readonly part: number };
}

/** In bytes: smaller than the request size limits of common proxies. */
const defaultSizes = { wholeUpTo: 64 * 1_048_576, part: 64 * 1_048_576 } as const;
const readBytes = 1_048_576;
/**
 * After this many consecutive error responses from a proxy, the upload of this file is postponed in favour of others.
 * If the job completes before the file is uploaded, the job shows why the file is missing.
 */
const maxProxyAnswers = 6;

/**
 * Uploads a file. Retries temporary failures until the signal fires. Resumes a large file at the first byte that the
 * server does not have.
 */
export async function uploadFile(source: Source, deps: UploadDeps): Promise<UploadEnd> {
  let handle: FileHandle;
  try {
    handle = await open(source.path, 'r');
  } catch (cause) {
    return isGone(cause) ? { kind: 'changed' } : { kind: 'refused', why: reasonOf(cause) };
  }
  try {
    return await send(source, readingOf(source, handle), deps);
  } finally {
    await handle.close();
  }
}

/** Uploads content from memory, like `uploadFile`. */
export function uploadBytes(key: string, content: Uint8Array, deps: UploadDeps): Promise<UploadEnd> {
  const sha256 = createHash('sha256').update(content).digest('hex');
  const reading: Reading = {
    bodyFrom: (first, end) => ({
      bytes: end - first,
      async *pieces() {
        yield content.subarray(first, end);
      },
    }),
    trouble: () => null,
    isSame: () => Promise.resolve(true),
  };
  return send({ key, bytes: content.length, sha256 }, reading, deps);
}

async function send(whole: Whole, reading: Reading, deps: UploadDeps): Promise<UploadEnd> {
  const { clock, random, signal } = deps;
  const { wholeUpTo, part } = deps.sizes ?? defaultSizes;
  const isLarge = whole.bytes > wholeUpTo;
  const { decideOn, onProgress } = createUploadDecisions();
  const upload = createResumableUpload(whole, reading, isLarge ? part : null, { ...deps, onProgress });
  const end = await retry(upload, { clock, random, signal, waits: waits.upload, decide: decideOn });
  if (end.kind === 'done') return end.value;
  if (end.kind === 'aborted') return { kind: 'aborted' };
  const { failure, decision } = end;
  if (decision !== 'no_room' && decision !== 'stop') return { kind: decision };
  const why = describeUploadFailure(failure, Math.min(whole.bytes, isLarge ? part : whole.bytes));
  return { kind: decision === 'stop' ? 'refused' : decision, why };
}

/**
 * Returns a function that uploads until the end or the first failure. Each call continues at the first byte that the
 * server does not have. `part`: the size of the parts in bytes; null to send the content as a whole.
 */
function createResumableUpload(
  whole: Whole,
  reading: Reading,
  part: number | null,
  deps: UploadDeps & { readonly onProgress: () => void },
): () => Promise<RetryAnswer<UploadEnd, Failure>> {
  const { storage, signal, onProgress } = deps;
  const { key, bytes, sha256: digest } = whole;
  const ended = (end: UploadEnd) => ({ ok: true, value: end }) as const;
  /** Offset of the next byte to send; null when only the server knows it. */
  let first = part === null ? 0 : null;
  return async () => {
    let hasProgressed = false;
    if (first === null) {
      const position = await findResumeOffset(whole, deps);
      if (!position.ok) return position;
      if (position.value === 'uploaded') return ended({ kind: 'uploaded' });
      first = position.value;
    }
    while (!signal.aborted) {
      const end: number = part === null ? bytes : Math.min(first + part, bytes);
      const isLastPart = end === bytes;
      const body = reading.bodyFrom(first, end);
      const range = part === null ? null : { first, total: bytes };
      let sha256: string | null = null;
      if (typeof digest === 'string') sha256 = digest;
      else if (isLastPart) sha256 = await digest.whole(signal);
      if (!(await reading.isSame())) return ended({ kind: 'changed' });
      const answer = await storage.put(key, { sha256, body, part: range }, signal);
      if (signal.aborted) break;
      if (!(await reading.isSame())) return ended({ kind: 'changed' });
      const why = reading.trouble();
      if (why !== null) return { ok: false, failure: { kind: 'disk', cause: why } };
      if (!answer.ok) {
        first = part === null ? 0 : null;
        return { ...answer, hasProgressed };
      }
      if (isLastPart) return ended({ kind: 'uploaded' });
      first = end;
      hasProgressed = true;
      onProgress();
    }
    return ended({ kind: 'aborted' });
  };
}

/** Decides about failed uploads. Counts consecutive responses of a proxy, because many of them make a retry pointless. */
function createUploadDecisions() {
  let proxyAnswers = 0;
  return {
    decideOn(failure: Failure): Decisions['upload'] {
      proxyAnswers = failure.kind === 'unexpected' ? proxyAnswers + 1 : 0;
      const decision = decide('upload', failure);
      return decision === 'retry' && proxyAnswers >= maxProxyAnswers ? 'no_room' : decision;
    },
    onProgress(): void {
      proxyAnswers = 0;
    },
  };
}

/** Asks the server where to resume the upload of a large file. */
async function findResumeOffset(
  { key, bytes, sha256 }: Whole,
  { storage, signal }: UploadDeps,
): Promise<Answered<number | 'uploaded'>> {
  const answer = await storage.progress(key, signal);
  if (!answer.ok) return answer;
  if (answer.value === null) return { ok: true, value: 0 };
  const { offset, total, sha256: whole } = answer.value;
  if (whole !== null) {
    const localHash = typeof sha256 === 'string' ? sha256 : await sha256.whole(signal);
    return { ok: true, value: whole === localHash ? 'uploaded' : 0 };
  }
  return { ok: true, value: total === bytes && offset < total ? offset : 0 };
}

function readingOf({ path, bytes, changedAt, sha256 }: Source, handle: FileHandle): Reading {
  let trouble: string | null = null;
  const read = async (at: number, end: number): Promise<Buffer> => {
    try {
      // Use a new buffer for each read, because the previous one may still be in use for sending.
      const buffer = Buffer.allocUnsafeSlow(Math.min(readBytes, end - at));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
      return buffer.subarray(0, bytesRead);
    } catch (cause) {
      trouble = reasonOf(cause);
      throw cause;
    }
  };
  return {
    bodyFrom: (first, end) => ({
      bytes: end - first,
      async *pieces() {
        let next = read(first, end);
        for (let at = first; at < end; ) {
          const piece = await next;
          if (piece.length === 0) throw new Error('the file has become shorter');
          const nextAt = at + piece.length;
          // Read the next piece while this one is sent.
          if (nextAt < end) next = read(nextAt, end);
          next.catch(() => undefined);
          if (typeof sha256 !== 'string') sha256.add(at, piece);
          at = nextAt;
          yield piece;
        }
      },
    }),
    trouble: () => trouble,
    async isSame() {
      const stats = await stat(path).catch(() => null);
      return stats !== null && stats.size === bytes && stats.mtimeMs === changedAt;
    },
  };
}

/** Whether an error of the file system means that the file no longer exists. */
export const isGone = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR');
