import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { CallFailure } from '../../protocol/client.ts';
import { createBackoff, pause } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import type { RunningDigest } from '../files/file-digest.ts';
import type { StreamBody } from '../connection/http-fetch.ts';
import type { Found } from './outputs.ts';
import { reasonOf } from '../files/failure-text.ts';
import type { Storage } from './storage.ts';
import { storageVerdict } from './storage-verdict.ts';
import type { Answered } from './upload-token.ts';
import { wordsOfUploadFailure } from './upload-words.ts';

/** The content to upload. */
interface Whole {
  readonly key: string;
  readonly bytes: number;
  /** If it is not known beforehand, the server gets it with the last part. */
  readonly sha256: string | RunningDigest;
}

/** A file as the scan found it. */
export interface Source extends Found, Whole {
  readonly path: string;
}

/** Reads the bytes of the content. */
interface Reading {
  bodyFrom(first: number, last: number): StreamBody;
  /** Returns why a read failed; null when none did. */
  trouble(): string | null;
  /** Whether the content is unchanged. */
  isSame(): Promise<boolean>;
}

/**
 * `changed`: the file has changed or is gone. `over`: the attempt may not upload now. `closed`: it never may again. `no_room`: the
 * server or a proxy does not take this file now, but may later. `refused`: the server never takes it. `aborted`: the signal fired.
 */
export type UploadEnd =
  | { readonly kind: 'brought' | 'changed' | 'over' | 'closed' | 'aborted' }
  | { readonly kind: 'no_room' | 'refused'; readonly why: string };

export interface UploadDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** In bytes: a file larger than `wholeUpTo` is sent in parts of size `part`. For tests. */
  readonly sizes?: { readonly wholeUpTo: number; readonly part: number };
}

/** Smaller than the request size limits of common proxies. */
const usualSizes = { wholeUpTo: 64 * 1_048_576, part: 64 * 1_048_576 } as const;
const portion = 1_048_576;
const backoffRule = { firstMs: 1_000, maxMs: 30_000 } as const;
/** After this many consecutive proxy responses, other files get their turn. A completed job then shows why this one is missing. */
const maxProxyAnswers = 6;

/**
 * Uploads a file. Retries a call that fails for a temporary reason until the signal fires. Resumes a large file at the first byte
 * that the server does not have.
 */
export async function uploadFile(source: Source, parts: UploadDeps): Promise<UploadEnd> {
  let handle: FileHandle;
  try {
    handle = await open(source.path, 'r');
  } catch (cause) {
    return isGone(cause) ? { kind: 'changed' } : { kind: 'refused', why: reasonOf(cause) };
  }
  try {
    return await send(source, readingOf(source, handle), parts);
  } finally {
    await handle.close();
  }
}

/** Uploads content from memory, like `uploadFile`. */
export function uploadBytes(key: string, content: Uint8Array, parts: UploadDeps): Promise<UploadEnd> {
  const sha256 = createHash('sha256').update(content).digest('hex');
  const reading: Reading = {
    bodyFrom: (first, last) => ({
      bytes: last - first,
      async *pieces() {
        yield content.subarray(first, last);
      },
    }),
    trouble: () => null,
    isSame: () => Promise.resolve(true),
  };
  return send({ key, bytes: content.length, sha256 }, reading, parts);
}

async function send(whole: Whole, reading: Reading, parts: UploadDeps): Promise<UploadEnd> {
  const { storage, clock, random, signal } = parts;
  const { key, bytes, sha256: digest } = whole;
  const { wholeUpTo, part } = parts.sizes ?? usualSizes;
  const isLarge = bytes > wholeUpTo;
  const backoff = createBackoff({ ...backoffRule, random });
  const wait = (): Promise<boolean> => pause(clock, 200 + backoff.nextMs(), signal);
  const endOf = createEndFinder(Math.min(bytes, isLarge ? part : bytes));
  /** Offset of the next byte to send; null when the server must be asked. */
  let first = isLarge ? null : 0;
  while (!signal.aborted) {
    if (first === null) {
      const there = await askWhere(whole, parts);
      const end = there.ok ? null : endOf(there.failure);
      if (end !== null) return end;
      if (!there.ok) await wait();
      else if (there.value === 'brought') return { kind: 'brought' };
      else first = there.value;
      continue;
    }
    const last: number = isLarge ? Math.min(first + part, bytes) : bytes;
    const body = reading.bodyFrom(first, last);
    const place = isLarge ? { first, total: bytes } : null;
    const sha256 = typeof digest === 'string' ? digest : last < bytes ? null : await digest.whole(signal);
    if (!(await reading.isSame())) return { kind: 'changed' };
    const answer = await storage.put(key, { sha256, body, part: place }, signal);
    if (signal.aborted) break;
    if (!(await reading.isSame())) return { kind: 'changed' };
    const why = reading.trouble();
    if (why !== null) return { kind: 'refused', why };
    if (answer.ok && last === bytes) return { kind: 'brought' };
    if (answer.ok) {
      first = last;
      endOf.reset();
      backoff.reset();
      continue;
    }
    const end = endOf(answer.failure);
    if (end !== null) return end;
    first = isLarge ? null : 0;
    await wait();
  }
  return { kind: 'aborted' };
}

/** Decides what a failed call means for an upload with bodies of this size. Null means retry. */
function createEndFinder(bodyBytes: number) {
  let proxyAnswers = 0;
  const find = (failure: CallFailure): UploadEnd | null => {
    proxyAnswers = failure.kind === 'unexpected' ? proxyAnswers + 1 : 0;
    const verdict = storageVerdict(failure);
    switch (verdict) {
      case 'later':
      case 'elsewhere':
        return proxyAnswers < maxProxyAnswers
          ? null
          : { kind: 'no_room', why: wordsOfUploadFailure(failure, bodyBytes) };
      case 'over':
      case 'closed':
        return { kind: verdict };
      case 'no_room':
      case 'refused': {
        const isOther = failure.kind === 'problem' && failure.problem.code === 'checksum_mismatch';
        return isOther
          ? { kind: 'changed' }
          : { kind: verdict, why: wordsOfUploadFailure(failure, bodyBytes) };
      }
    }
  };
  return Object.assign(find, {
    reset(): void {
      proxyAnswers = 0;
    },
  });
}

/** Asks the server where to resume the upload of a large file. */
async function askWhere(
  { key, bytes, sha256 }: Whole,
  { storage, signal }: UploadDeps,
): Promise<Answered<number | 'brought'>> {
  const answer = await storage.progress(key, signal);
  if (!answer.ok) return answer;
  if (answer.value === null) return { ok: true, value: 0 };
  const { offset, total, sha256: whole } = answer.value;
  if (whole !== null) {
    const own = typeof sha256 === 'string' ? sha256 : await sha256.whole(signal);
    return { ok: true, value: whole === own ? 'brought' : 0 };
  }
  return { ok: true, value: total === bytes && offset < total ? offset : 0 };
}

function readingOf({ path, bytes, changedAt, sha256 }: Source, handle: FileHandle): Reading {
  let trouble: string | null = null;
  const read = async (at: number, last: number): Promise<Buffer> => {
    try {
      // Use a new buffer for each read, because the previous one may still be in use for sending.
      const buffer = Buffer.allocUnsafeSlow(Math.min(portion, last - at));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
      return buffer.subarray(0, bytesRead);
    } catch (cause) {
      trouble = reasonOf(cause);
      throw cause;
    }
  };
  return {
    bodyFrom: (first, last) => ({
      bytes: last - first,
      async *pieces() {
        let next = read(first, last);
        for (let at = first; at < last; ) {
          const piece = await next;
          if (piece.length === 0) throw new Error('the file has become shorter');
          const behind = at + piece.length;
          // Read the next piece while this one is sent.
          if (behind < last) next = read(behind, last);
          next.catch(() => undefined);
          if (typeof sha256 !== 'string') sha256.add(at, piece);
          at = behind;
          yield piece;
        }
      },
    }),
    trouble: () => trouble,
    async isSame() {
      const found = await stat(path).catch(() => null);
      return found !== null && found.size === bytes && found.mtimeMs === changedAt;
    },
  };
}

export const isGone = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR');
