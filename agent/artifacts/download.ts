import { lstat, open, rm } from 'node:fs/promises';
import { createBackoff, pause } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import { createBatchWriter } from '../files/batch-writer.ts';
import { type Content, createRunningDigest, type RunningDigest } from '../files/file-digest.ts';
import type { Storage } from './storage.ts';
import { storageVerdict, wordsOfFailure } from './storage-verdict.ts';

export interface DownloadDeps {
  readonly storage: Storage;
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

export const downloadBackoff = { firstMs: 500, maxMs: 30_000 } as const;
const maxWrong = 2;

/**
 * Downloads a file with this content. It continues an unfinished download, so that a broken connection loses only the
 * bytes in transit. A file that turns out to be different is downloaded once more. Rejects when the disk cannot be
 * read.
 */
export async function downloadFile(
  key: string,
  file: string,
  content: Content,
  parts: DownloadDeps,
): Promise<DownloadEnd> {
  const { clock, random, signal } = parts;
  const backoff = createBackoff({ ...downloadBackoff, random });
  let digest = createRunningDigest(file);
  let bytes = 0;
  let wrong = 0;
  while (!signal.aborted) {
    const from = await begunBytes(file, content);
    const rest =
      from < content.bytes || from === 0
        ? await fetchRest({ key, file, from, content, digest }, parts)
        : 'all';
    if (signal.aborted) break;
    if (typeof rest === 'object') return rest;
    const grown = (await begunBytes(file, content)) - from;
    bytes += Math.max(0, grown);
    if (grown > 0) backoff.reset();
    if (rest === 'broken') {
      await pause(clock, 200 + backoff.nextMs(), signal);
      continue;
    }
    if (rest === 'all' && (await digest.whole(signal)) === content.sha256) return { kind: 'done', bytes };
    await rm(file, { force: true });
    digest = createRunningDigest(file);
    wrong += 1;
    if (wrong >= maxWrong)
      return { kind: 'failed', why: `${key} has come ${maxWrong} times, and was another file each time` };
  }
  return { kind: 'aborted' };
}

/** Returns how many bytes are already here. Removes anything that cannot be the beginning of the file. */
async function begunBytes(file: string, { bytes }: Content): Promise<number> {
  const found = await lstat(file).catch(() => null);
  if (found === null) return 0;
  if (found.isFile() && found.size <= bytes) return found.size;
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

/** Downloads the rest of a file. `other`: the server now has different content under this key. */
async function fetchRest(
  { key, file, from, content, digest }: Rest,
  { storage, signal }: DownloadDeps,
): Promise<'all' | 'broken' | 'other' | Extract<DownloadEnd, { readonly kind: 'failed' }>> {
  const answer = await storage.get(key, { from, sha256: content.sha256 }, signal);
  if (!answer.ok) {
    if (storageVerdict(answer.failure) === 'later') return 'broken';
    return { kind: 'failed', why: `${key}: ${wordsOfFailure(answer.failure)}` };
  }
  const { value: download } = answer;
  const begins = download.from === from || download.from === 0;
  if (download.sha256 !== content.sha256 || download.bytes !== content.bytes || !begins) {
    await download.leave();
    return 'other';
  }
  const handle = await open(file, download.from === 0 ? 'w' : 'a', 0o600);
  try {
    const writer = createBatchWriter(handle);
    let at = download.from;
    try {
      for await (const piece of download.pieces()) {
        digest.add(at, piece);
        at += piece.length;
        await writer.write(piece);
        if (writer.trouble() !== null) break;
      }
    } catch {
      // The connection broke. The bytes that were received stay.
    }
    await writer.end();
    const trouble = writer.trouble();
    if (trouble !== null) return { kind: 'failed', why: trouble };
    return (await handle.stat()).size === content.bytes ? 'all' : 'broken';
  } finally {
    await handle.close();
  }
}
