import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import { type Content, createRunningDigest, type RunningDigest } from '../files/file-digest.ts';
import { describeFailure, reasonOf } from '../files/failure-text.ts';
import { decide, type Failure, waits } from '../retry/decisions.ts';
import { retryImmediately, retry, type RetryAnswer } from '../retry/retry.ts';
import type { Storage } from './storage.ts';

export interface DownloadDeps {
  readonly storage: Pick<Storage, 'get'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Fires when the file is no longer needed. */
  readonly signal: AbortSignal;
}

/** `bytes`: the number of bytes that were downloaded. */
export type DownloadEnd =
  | { readonly kind: 'done'; readonly bytes: number }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'aborted' };

/** After this many downloads with unexpected content, the download fails. */
const maxMismatches = 2;

/**
 * Downloads a file, and verifies its size and SHA-256. Continues an unfinished download, so that a broken connection
 * loses only the bytes in transit. If the content does not match, downloads the file once more. Rejects when the disk
 * cannot be read.
 */
export async function downloadFile(
  key: string,
  file: string,
  content: Content,
  deps: DownloadDeps,
): Promise<DownloadEnd> {
  const { clock, random, signal } = deps;
  let digest = createRunningDigest(file);
  let bytes = 0;
  let mismatches = 0;
  const download = async (): Promise<RetryAnswer<DownloadEnd, Failure | 'mismatch'>> => {
    const from = await countDownloaded(file, content);
    const rest =
      from < content.bytes || from === 0
        ? await fetchRest({ key, file, from, content, digest }, deps)
        : complete;
    if (signal.aborted) return { ok: true, value: { kind: 'aborted' } };
    const newBytes = Math.max(0, (await countDownloaded(file, content)) - from);
    bytes += newBytes;
    if (!rest.ok && rest.failure !== 'mismatch') return { ...rest, hasProgressed: newBytes > 0 };
    if (rest.ok && (await digest.whole(signal)) === content.sha256)
      return { ok: true, value: { kind: 'done', bytes } };
    await rm(file, { force: true });
    digest = createRunningDigest(file);
    mismatches += 1;
    if (mismatches < maxMismatches) return { ok: false, failure: 'mismatch', hasProgressed: newBytes > 0 };
    const why = `${key} was downloaded ${maxMismatches} times with unexpected content`;
    return { ok: true, value: { kind: 'failed', why } };
  };
  const end = await retry(download, {
    clock,
    random,
    signal,
    waits: { ...waits.download, again: retryImmediately },
    decide: failure => (failure === 'mismatch' ? 'again' : decide('download', failure)),
  });
  if (end.kind === 'done') return end.value;
  if (end.kind === 'aborted' || end.failure === 'mismatch') return { kind: 'aborted' };
  const message = describeFailure(end.failure);
  return { kind: 'failed', why: end.failure.kind === 'disk' ? message : `${key}: ${message}` };
}

const complete = { ok: true, value: 'all' } as const;

/** Returns how many bytes of the file are on disk. Removes anything at its path that cannot be the start of the content. */
async function countDownloaded(file: string, { bytes }: Content): Promise<number> {
  const stats = await lstat(file).catch(() => null);
  if (stats === null) return 0;
  if (stats.isFile() && stats.size <= bytes) return stats.size;
  await rm(file, { recursive: true, force: true });
  return 0;
}

interface Rest {
  readonly key: string;
  readonly file: string;
  readonly from: number;
  readonly content: Content;
  readonly digest: RunningDigest;
}

/** Downloads the rest of a file. Fails with `mismatch` when the server now has different content under this key. */
async function fetchRest(
  { key, file, from, content, digest }: Rest,
  { storage, signal }: DownloadDeps,
): Promise<RetryAnswer<'all', Failure | 'mismatch'>> {
  const answer = await storage.get(key, { from, sha256: content.sha256 }, signal);
  if (!answer.ok) return answer;
  const { value: download } = answer;
  const hasExpectedStart = download.from === from || download.from === 0;
  if (download.sha256 !== content.sha256 || download.bytes !== content.bytes || !hasExpectedStart) {
    await download.discard();
    return { ok: false, failure: 'mismatch' };
  }
  const handle = await open(file, download.from === 0 ? 'w' : 'a', 0o600);
  try {
    const writer = createBatchWriter(handle);
    let at = download.from;
    let broken: unknown = new Error('the download ended early');
    try {
      for await (const piece of download.pieces()) {
        digest.add(at, piece);
        at += piece.length;
        await writer.write(piece);
        if (writer.trouble() !== null) break;
      }
    } catch (cause) {
      // The connection broke. Keep the bytes that have arrived.
      broken = cause;
    }
    await writer.end();
    const trouble = writer.trouble();
    if (trouble !== null) return { ok: false, failure: { kind: 'disk', cause: trouble } };
    if ((await handle.stat()).size === content.bytes) return complete;
    return { ok: false, failure: { kind: 'unreachable', cause: broken } };
  } finally {
    await handle.close();
  }
}

/** Appends to a file in large batches. Writes one batch while it collects the next. */
interface BatchWriter {
  /** Resolves when the writer can accept more. */
  write(piece: Uint8Array): Promise<void>;
  /** Resolves when everything is written, or when writing has failed. */
  end(): Promise<void>;
  /** Returns why writing failed; null if it did not. */
  trouble(): string | null;
}

const batchBytes = 1_048_576;

function createBatchWriter(handle: Pick<FileHandle, 'writev' | 'appendFile'>): BatchWriter {
  let batch: Uint8Array[] = [];
  let bytes = 0;
  let writing: Promise<void> = Promise.resolve();
  let trouble: string | null = null;
  const append = async (pieces: readonly Uint8Array[], length: number): Promise<void> => {
    const { bytesWritten } = await handle.writev(pieces);
    // The system call may write only a part of the data.
    if (bytesWritten < length) await handle.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
  };
  const flush = async (): Promise<void> => {
    await writing;
    if (bytes === 0 || trouble !== null) return;
    writing = append(batch, bytes).catch((cause: unknown) => {
      trouble = reasonOf(cause);
    });
    batch = [];
    bytes = 0;
  };
  return {
    async write(piece) {
      batch.push(piece);
      bytes += piece.length;
      if (bytes >= batchBytes) await flush();
    },
    async end() {
      await flush();
      await writing;
    },
    trouble: () => trouble,
  };
}
