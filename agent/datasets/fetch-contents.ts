import type { Content, ContentFiles } from '../../datasets/content-files.ts';
import type { Clock } from '../clock.ts';
import { noWait, retry, type RetryAnswer } from '../retry/retry.ts';
import { waits } from '../retry/decisions.ts';

/** Where the contents of datasets come from: the orchestrator. */
export interface ContentSource {
  /** Opens a content after its first `from` bytes. */
  open(sha256: string, from: number, signal: AbortSignal): Promise<OpenedContent>;
}

export type OpenedContent =
  /** Begins at `from`, or at 0 when the source does not support ranges. Iterating rejects when the connection breaks. */
  | { readonly kind: 'open'; readonly from: number; readonly pieces: AsyncIterable<Uint8Array> }
  /** The source cannot be reached, or is busy. */
  | { readonly kind: 'later'; readonly retryAfterMs?: number | undefined }
  /** The source will never have it. `why`: a sentence without its full stop. */
  | { readonly kind: 'refused'; readonly why: string };

export interface FetchProgress {
  /** How much of the dataset is on this rig. */
  readonly bytesHere: number;
  readonly bytes: number;
}

export interface FetchOptions {
  /** Files of the dataset; several may have the same content. */
  readonly wanted: readonly Content[];
  readonly contents: ContentFiles;
  readonly source: ContentSource;
  readonly clock: Clock;
  readonly random: () => number;
  /** Fires when the job is cancelled, or the agent stops. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: FetchProgress) => void;
}

/** `fetched`: bytes that came over the network. */
export type FetchEnd =
  | { readonly kind: 'done'; readonly fetched: number }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'aborted' };

/** Images are small: one at a time, the connection would mostly be idle. */
const atOnce = 8;
/** A content that arrives wrong this often is damaged at its source. */
const maxWrong = 2;

/** Fetches the missing contents, several at a time, and continues where an earlier fetch ended. Rejects when the disk fails. */
export async function fetchContents(options: FetchOptions): Promise<FetchEnd> {
  const { contents, signal, onProgress } = options;
  const wanted = [...new Map(options.wanted.map(content => [content.sha256, content])).values()];
  const bytes = wanted.reduce((sum, content) => sum + content.bytes, 0);
  const missing: Content[] = [];
  for (const content of wanted) if (!(await contents.has(content))) missing.push(content);
  let bytesHere = bytes - missing.reduce((sum, content) => sum + content.bytes, 0);
  let fetched = 0;
  const grow = (more: number): void => {
    bytesHere += more;
    onProgress({ bytesHere, bytes });
  };
  onProgress({ bytesHere, bytes });

  // The first failure stops the others.
  const halt = new AbortController();
  const either = AbortSignal.any([signal, halt.signal]);
  let failure: string | null = null;
  const ahead = missing.values();
  const work = async (): Promise<void> => {
    for (const content of ahead) {
      if (either.aborted) return;
      const why = await fetchOne(content, { ...options, signal: either }, grow, more => (fetched += more));
      if (why === null) continue;
      failure ??= why;
      halt.abort();
    }
  };
  const workers = Array.from({ length: atOnce }, work);
  try {
    await Promise.all(workers);
  } finally {
    halt.abort();
    await Promise.allSettled(workers);
  }
  if (failure !== null) return { kind: 'failed', why: failure };
  return signal.aborted ? { kind: 'aborted' } : { kind: 'done', fetched };
}

/** Null when the content is stored, or the signal has fired; else why it cannot be fetched. */
async function fetchOne(
  content: Content,
  { contents, source, clock, random, signal }: FetchOptions,
  grow: (bytes: number) => void,
  onBytes: (bytes: number) => void,
): Promise<string | null> {
  const { sha256, bytes } = content;
  let counted = 0;
  let wrong = 0;
  const count = (at: number): void => {
    grow(at - counted);
    counted = at;
  };
  const fetch = async (): Promise<RetryAnswer<string | null, 'broken' | 'wrong'>> => {
    const arrived = await contents.arrived(sha256);
    let at = arrived > bytes ? 0 : arrived;
    let hasProgressed = false;
    count(at);
    if (at < bytes || bytes === 0) {
      const opened = await source.open(sha256, at, signal);
      if (opened.kind === 'refused') return { ok: true, value: opened.why };
      if (opened.kind === 'later') return { ok: false, failure: 'broken', retryAfterMs: opened.retryAfterMs };
      at = await takePieces(content, opened, contents, taken => {
        onBytes(taken);
        hasProgressed = true;
        count(counted + taken);
      });
      if (at < bytes) return { ok: false, failure: 'broken', hasProgressed };
    }
    if (signal.aborted || (await contents.keep(content, signal))) return { ok: true, value: null };
    wrong += 1;
    if (wrong < maxWrong) return { ok: false, failure: 'wrong', hasProgressed };
    const why = `A file of the dataset (${sha256.slice(0, 12)}) arrived ${maxWrong} times with the wrong SHA-256. Push the dataset again`;
    return { ok: true, value: why };
  };
  const end = await retry(fetch, {
    clock,
    random,
    signal,
    waits: { broken: waits.download.retry, wrong: noWait },
    decide: failure => failure,
  });
  return end.kind === 'done' ? end.value : null;
}

/** Returns how many bytes are stored now. Keeps what arrived before the connection broke. */
async function takePieces(
  { sha256, bytes }: Content,
  { from, pieces }: Extract<OpenedContent, { readonly kind: 'open' }>,
  contents: ContentFiles,
  onTaken: (bytes: number) => void,
): Promise<number> {
  const part = await contents.openPart(sha256, from);
  let at = from;
  try {
    const reading = pieces[Symbol.asyncIterator]();
    for (;;) {
      // Ignores errors of the network only: an error of the disk has to reject.
      const next = await reading.next().catch(() => null);
      if (next === null || next.done) return at;
      if (at + next.value.length > bytes) {
        await reading.return?.();
        await part.write(next.value.subarray(0, bytes - at));
        return bytes;
      }
      await part.write(next.value);
      at += next.value.length;
      onTaken(next.value.length);
    }
  } finally {
    await part.close();
  }
}
