import type { Content, ContentFiles } from '../../datasets/content-files.ts';
import type { Clock } from '../clock.ts';
import { retryImmediately, retry, type RetryAnswer } from '../retry/retry.ts';
import { waits } from '../retry/decisions.ts';

/** The source of the contents of datasets: the orchestrator. */
export interface ContentSource {
  /** Opens a content after its first `from` bytes. */
  open(sha256: string, from: number, signal: AbortSignal): Promise<OpenedContent>;
}

export type OpenedContent =
  /** Begins at `from`, or at 0 when the source does not support ranges. Iterating rejects when the connection breaks. */
  | { readonly kind: 'open'; readonly from: number; readonly pieces: AsyncIterable<Uint8Array> }
  /** The source is unreachable or busy. */
  | { readonly kind: 'later'; readonly retryAfterMs?: number | undefined }
  /** The source will never have this content. `why`: a sentence without its full stop. */
  | { readonly kind: 'refused'; readonly why: string };

export interface FetchProgress {
  /** The bytes of the dataset that are on this rig. */
  readonly bytesHere: number;
  readonly bytes: number;
}

export interface FetchOptions {
  /** Files of the dataset; several may have the same content. */
  readonly required: readonly Content[];
  readonly contents: ContentFiles;
  readonly source: ContentSource;
  readonly clock: Clock;
  readonly random: () => number;
  /** Fires when the job is cancelled, or the agent stops. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: FetchProgress) => void;
}

/** `fetched`: the number of bytes that were downloaded. */
export type FetchEnd =
  | { readonly kind: 'done'; readonly fetched: number }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'aborted' };

/** Images are small, so with one download at a time the connection would mostly be idle. */
const parallelFetches = 8;
/** After this many downloads with a wrong SHA-256, the content counts as damaged at its source. */
const maxWrong = 2;

/** Downloads the missing contents, several at a time. Continues unfinished downloads. Rejects when the disk fails. */
export async function fetchContents(options: FetchOptions): Promise<FetchEnd> {
  const { contents, signal, onProgress } = options;
  const required = [...new Map(options.required.map(content => [content.sha256, content])).values()];
  const bytes = required.reduce((sum, content) => sum + content.bytes, 0);
  const missing: Content[] = [];
  for (const content of required) if (!(await contents.has(content))) missing.push(content);
  let bytesHere = bytes - missing.reduce((sum, content) => sum + content.bytes, 0);
  let fetched = 0;
  const addBytes = (more: number): void => {
    bytesHere += more;
    onProgress({ bytesHere, bytes });
  };
  onProgress({ bytesHere, bytes });

  // The first failure stops the other downloads.
  const failed = new AbortController();
  const untilFailure = AbortSignal.any([signal, failed.signal]);
  let failure: string | null = null;
  const queue = missing.values();
  const work = async (): Promise<void> => {
    for (const content of queue) {
      if (untilFailure.aborted) return;
      const why = await fetchOne(
        content,
        { ...options, signal: untilFailure },
        addBytes,
        more => (fetched += more),
      );
      if (why === null) continue;
      failure ??= why;
      failed.abort();
    }
  };
  const workers = Array.from({ length: parallelFetches }, work);
  try {
    await Promise.all(workers);
  } finally {
    failed.abort();
    await Promise.allSettled(workers);
  }
  if (failure !== null) return { kind: 'failed', why: failure };
  return signal.aborted ? { kind: 'aborted' } : { kind: 'done', fetched };
}

/** Returns null when the content is stored or the signal has fired; else why it cannot be downloaded. */
async function fetchOne(
  content: Content,
  { contents, source, clock, random, signal }: FetchOptions,
  addBytesHere: (bytes: number) => void,
  addFetched: (bytes: number) => void,
): Promise<string | null> {
  const { sha256, bytes } = content;
  let counted = 0;
  let wrong = 0;
  const count = (at: number): void => {
    addBytesHere(at - counted);
    counted = at;
  };
  const fetch = async (): Promise<RetryAnswer<string | null, 'broken' | 'wrong'>> => {
    const arrived = await contents.partBytes(sha256);
    let at = arrived > bytes ? 0 : arrived;
    let hasProgressed = false;
    count(at);
    if (at < bytes || bytes === 0) {
      const opened = await source.open(sha256, at, signal);
      if (opened.kind === 'refused') return { ok: true, value: opened.why };
      if (opened.kind === 'later') return { ok: false, failure: 'broken', retryAfterMs: opened.retryAfterMs };
      at = await storePieces(content, opened, contents, stored => {
        addFetched(stored);
        hasProgressed = true;
        count(counted + stored);
      });
      if (at < bytes) return { ok: false, failure: 'broken', hasProgressed };
    }
    if (signal.aborted || (await contents.complete(content, signal))) return { ok: true, value: null };
    wrong += 1;
    if (wrong < maxWrong) return { ok: false, failure: 'wrong', hasProgressed };
    const why = `A file of the dataset (${sha256.slice(0, 12)}) arrived ${maxWrong} times with the wrong SHA-256. Push the dataset again`;
    return { ok: true, value: why };
  };
  const end = await retry(fetch, {
    clock,
    random,
    signal,
    waits: { broken: waits.download.retry, wrong: retryImmediately },
    decide: failure => failure,
  });
  return end.kind === 'done' ? end.value : null;
}

/** Stores the pieces of a download. Returns the end offset of the stored bytes, even when the connection breaks. */
async function storePieces(
  { sha256, bytes }: Content,
  { from, pieces }: Extract<OpenedContent, { readonly kind: 'open' }>,
  contents: ContentFiles,
  onStored: (bytes: number) => void,
): Promise<number> {
  const part = await contents.openPart(sha256, from);
  let at = from;
  try {
    const reading = pieces[Symbol.asyncIterator]();
    for (;;) {
      // Catch only network errors, because an error of the disk must reject.
      const next = await reading.next().catch(() => null);
      if (next === null || next.done) return at;
      if (at + next.value.length > bytes) {
        await reading.return?.();
        await part.write(next.value.subarray(0, bytes - at));
        return bytes;
      }
      await part.write(next.value);
      at += next.value.length;
      onStored(next.value.length);
    }
  } finally {
    await part.close();
  }
}
