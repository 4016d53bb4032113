import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { createBackoff, pause } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { Stretch } from './http-fetch.ts';
import type { Found } from './outputs.ts';
import { reasonOf } from './start-failure.ts';
import type { Storage } from './storage.ts';
import { storageVerdict, wordsOfFailure } from './storage-verdict.ts';

/** What is to be sent. */
interface Whole {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A file as it was found. */
export interface Source extends Found, Whole {
  readonly path: string;
}

/** Where its bytes come from. */
interface Reading {
  stretch(first: number, last: number): Stretch;
  /** Why it could not be read; null when it could. */
  trouble(): string | null;
  /** Whether it is still what it was. */
  isSame(): Promise<boolean>;
}

/**
 * `changed`: the file is another by now, or gone; `over`: the attempt may not upload now; `closed`: it never may again; `no_room` and `refused`: not this one;
 * `aborted`: nobody wants it any more.
 */
export type UploadEnd =
  | { readonly kind: 'brought' | 'changed' | 'over' | 'closed' | 'aborted' }
  | { readonly kind: 'no_room' | 'refused'; readonly why: string };

export interface UploadParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Beyond the first a file goes in parts of the second, in bytes; for tests. */
  readonly sizes?: { readonly wholeUpTo: number; readonly part: number };
}

const usualSizes = { wholeUpTo: 64 * 1_048_576, part: 32 * 1_048_576 } as const;
const portion = 262_144;
const backoffRule = { firstMs: 1_000, mostMs: 30_000 } as const;

/** Brings a file, and repeats what no answer has come to for as long as somebody wants it. What has come of a large one is gone on from. */
export async function uploadFile(source: Source, parts: UploadParts): Promise<UploadEnd> {
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

/** The same from memory. */
export function uploadBytes(key: string, content: Uint8Array, parts: UploadParts): Promise<UploadEnd> {
  const sha256 = createHash('sha256').update(content).digest('hex');
  const reading: Reading = {
    stretch: (first, last) => ({
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

async function send(whole: Whole, reading: Reading, parts: UploadParts): Promise<UploadEnd> {
  const { storage, clock, random, signal } = parts;
  const { key, bytes, sha256 } = whole;
  const { wholeUpTo, part } = parts.sizes ?? usualSizes;
  const isLarge = bytes > wholeUpTo;
  const backoff = createBackoff({ ...backoffRule, random });
  const wait = (): Promise<boolean> => pause(clock, 200 + backoff.nextMs(), signal);
  /** Null when that is to be asked. */
  let first = isLarge ? null : 0;
  while (!signal.aborted) {
    if (first === null) {
      const there = await askWhere(whole, parts);
      if (typeof there === 'number') first = there;
      else if (there === 'later') await wait();
      else return there;
      continue;
    }
    const last: number = isLarge ? Math.min(first + part, bytes) : bytes;
    const body = reading.stretch(first, last);
    const place = isLarge ? { first, total: bytes } : null;
    const answer = await storage.put(key, { sha256, body, part: place }, signal);
    if (signal.aborted) break;
    if (!(await reading.isSame())) return { kind: 'changed' };
    const why = reading.trouble();
    if (why !== null) return { kind: 'refused', why };
    if (answer.ok && last === bytes) return { kind: 'brought' };
    if (answer.ok) {
      first = last;
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

/** Null when the same may be taken another time. */
function endOf(failure: Parameters<typeof storageVerdict>[0]): UploadEnd | null {
  const verdict = storageVerdict(failure);
  switch (verdict) {
    case 'later':
    case 'elsewhere':
      return null;
    case 'over':
    case 'closed':
      return { kind: verdict };
    case 'no_room':
    case 'refused': {
      const isOther = failure.kind === 'problem' && failure.problem.code === 'checksum_mismatch';
      return isOther ? { kind: 'changed' } : { kind: verdict, why: wordsOfFailure(failure) };
    }
  }
}

/** Where a file in parts goes on. */
async function askWhere(
  { key, bytes, sha256 }: Whole,
  { storage, signal }: UploadParts,
): Promise<number | 'later' | UploadEnd> {
  const answer = await storage.progress(key, signal);
  if (!answer.ok) return endOf(answer.failure) ?? 'later';
  if (answer.value === null) return 0;
  const { offset, total, sha256: whole } = answer.value;
  if (whole !== null) return whole === sha256 ? { kind: 'brought' } : 0;
  return total === bytes && offset < total ? offset : 0;
}

function readingOf({ path, bytes, changedAt }: Source, handle: FileHandle): Reading {
  let trouble: string | null = null;
  const read = async (buffer: Buffer, at: number): Promise<number> => {
    try {
      return (await handle.read(buffer, 0, buffer.length, at)).bytesRead;
    } catch (cause) {
      trouble = reasonOf(cause);
      throw cause;
    }
  };
  return {
    stretch: (first, last) => ({
      bytes: last - first,
      async *pieces() {
        for (let at = first; at < last; ) {
          // Each in a buffer of its own: what is sent may still be held when the next one is read.
          const buffer = Buffer.allocUnsafeSlow(Math.min(portion, last - at));
          const bytesRead = await read(buffer, at);
          if (bytesRead === 0) throw new Error('the file has become shorter');
          at += bytesRead;
          yield buffer.subarray(0, bytesRead);
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
