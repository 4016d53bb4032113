import { type Answer, piecesOf, urlOf } from '../../protocol/client.ts';
import { Problem } from '../../protocol/problem.ts';
import { commonBucket, dataBucket, storageApi } from '../../protocol/storage-api.ts';
import type { RenewCall } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import type { Send, StreamBody } from '../connection/http-fetch.ts';
import { type Answered, createTokenRenewal, type Failed } from './upload-token.ts';

/** The address and the token with which an attempt uploads its files. */
export interface StorageLocation {
  /** Path below the orchestrator's address. */
  readonly endpoint: string;
  readonly token: string;
}

export interface StorageDeps {
  /** The orchestrator's address. */
  readonly url: string;
  readonly send: Send;
  readonly clock: Clock;
  readonly renew: RenewCall;
}

/** The progress of an upload. `offset`: the bytes that the server has; `total`: the size of the file in bytes. */
export interface Progress {
  readonly offset: number;
  readonly total: number;
  /** Digest of a complete file; null while it is incomplete. */
  readonly sha256: string | null;
}

export interface Download {
  /** Offset of the first byte of the response. */
  readonly from: number;
  /** Size of the whole file, in bytes. */
  readonly bytes: number;
  readonly sha256: string;
  /** Throws when the connection breaks or stalls. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Discards the rest of the response. */
  discard(): Promise<void>;
}

export interface Upload {
  /** Digest of the whole file; null when it is not known yet, because further parts follow. */
  readonly sha256: string | null;
  readonly body: StreamBody;
  /** Position of the body in the file; null when the body is the whole file. */
  readonly part: { readonly first: number; readonly total: number } | null;
}

/** The files that a completed attempt has not uploaded yet. `bytes` is their total size. */
export interface OutstandingReport {
  readonly files: number;
  readonly bytes: number;
  readonly reason: string | null;
}

/**
 * The orchestrator's storage for the files of one job. Failures are values. Retries a call only after it has renewed
 * the token.
 */
export interface Storage {
  /** Returns the SHA-256 of every stored file, by key. */
  list(signal: AbortSignal): Promise<Answered<ReadonlyMap<string, string>>>;
  /** Returns how much of a file the server has; null when it has no part of the file. */
  progress(key: string, signal: AbortSignal): Promise<Answered<Progress | null>>;
  /** Uploads a file, or one part of a file. */
  put(key: string, upload: Upload, signal: AbortSignal): Promise<Answered<unknown>>;
  /**
   * Reports how much a completed attempt still has to upload. A report of 0 files closes the uploads of the attempt.
   */
  reportOutstanding(report: OutstandingReport, signal: AbortSignal): Promise<Answered<unknown>>;
  /** Downloads a file: from offset `rest.from` if the file still has the digest `rest.sha256`, else from its start. */
  get(
    key: string,
    rest: { readonly from: number; readonly sha256: string } | null,
    signal: AbortSignal,
  ): Promise<Answered<Download>>;
  /** Downloads a file of another job. The path has the form `inputs/<name of the input>/<path in the input>`. */
  input: Storage['get'];
  /** Downloads the content of a dataset's file from this offset. */
  content(sha256: string, from: number, signal: AbortSignal): Promise<Answered<Download>>;
}

/** Inactivity timeout in ms. It is long, because the orchestrator reads a large file again before it responds. */
const silenceMs = 120_000;
/**
 * Inactivity timeout in ms for calls without a file. The orchestrator responds to them quickly, so a longer silence means
 * a dead connection.
 *
 * @internal
 */
export const quickSilenceMs = 20_000;

/** Derives a signal that also fires after `ms` of inactivity. `onActivity` restarts the timeout, and `stop` stops it. */
function watchSilence(clock: Clock, signal: AbortSignal, ms = silenceMs) {
  const timeout = new AbortController();
  const startTimer = (): (() => void) =>
    clock.after(ms, () => timeout.abort(new Error(`no data was transferred for ${ms / 1_000} seconds`)));
  let cancelTimer = startTimer();
  return {
    signal: AbortSignal.any([signal, timeout.signal]),
    onActivity() {
      cancelTimer();
      cancelTimer = startTimer();
    },
    stop: () => cancelTimer(),
  };
}

type SilenceWatch = ReturnType<typeof watchSilence>;
type Headers = Readonly<Record<string, string>>;

/**
 * Creates a wrapper for calls. The wrapper fails a call after `ms` of inactivity. If a rotation of the worker token has
 * ended the upload token, the wrapper gets a new upload token and repeats the call.
 */
const createTimedCall =
  (clock: Clock, ms: number, withToken: ReturnType<typeof createTokenRenewal>) =>
  <T>(
    signal: AbortSignal,
    call: (headers: Headers, watch: SilenceWatch) => Promise<Answered<T>>,
  ): Promise<Answered<T>> =>
    withToken(signal, async headers => {
      const watch = watchSilence(clock, signal, ms);
      try {
        return await call(headers, watch);
      } catch (cause) {
        return { ok: false, failure: { kind: 'unreachable', cause } };
      } finally {
        watch.stop();
      }
    });

export function openStorage(location: StorageLocation, { url, send, clock, renew }: StorageDeps): Storage {
  const base = `${url}${location.endpoint}`;
  const withToken = createTokenRenewal(location.token, renew);
  const toFile = (key: string): URL => urlOf(base, `/${commonBucket}/*key`, { key: key.split('/') });
  const download = (
    name: string,
    source: { readonly url: URL; readonly rest: { readonly from: number; readonly sha256: string } | null },
    signal: AbortSignal,
  ): Promise<Answered<Download>> =>
    withToken(signal, headers => {
      const { rest } = source;
      const range = rest !== null &&
        rest.from > 0 && { range: `bytes=${rest.from}-`, 'if-range': `"${rest.sha256}"` };
      const watch = watchSilence(clock, signal);
      const pendingAnswer = send(source.url, { headers: { ...headers, ...range }, signal: watch.signal });
      return openDownload(name, pendingAnswer, watch);
    });
  const callQuickly = createTimedCall(clock, quickSilenceMs, withToken);
  const callPatiently = createTimedCall(clock, silenceMs, withToken);
  return {
    list: signal =>
      callQuickly(signal, async (headers, watch) => {
        const stored = new Map<string, string>();
        for (let cursor: string | null = ''; cursor !== null; ) {
          const page = urlOf(base, `/${commonBucket}`, {}, cursor === '' ? {} : { cursor });
          const answer = await send(page, { headers, signal: watch.signal });
          const body = answer.ok ? storageApi.list.reply.safeParse(parseJson(await answer.text())) : null;
          if (!body?.success) return failureOf(answer);
          for (const { Key, ETag } of body.data.Contents) stored.set(Key, digestIn(ETag));
          cursor = body.data.NextCursor;
          watch.onActivity();
        }
        return { ok: true, value: stored };
      }),
    progress: (key, signal) =>
      callQuickly(signal, async (headers, watch) => {
        const answer = await send(toFile(key), { method: 'HEAD', headers, signal: watch.signal });
        await answer.text();
        if (answer.status === 404) return { ok: true, value: null };
        return answer.ok ? { ok: true, value: progressIn(answer) } : failureOf(answer);
      }),
    put: (key, upload, signal) =>
      callPatiently(signal, async (headers, watch) => {
        const { body, part } = upload;
        const answer = await send(toFile(key), {
          method: 'PUT',
          headers: { ...headers, ...headersOf(upload) },
          body: { bytes: body.bytes, pieces: () => reportActivity(body.pieces(), watch.onActivity) },
          signal: watch.signal,
        });
        const isAccepted = answer.ok || (part !== null && answer.status === 308);
        if (!isAccepted) return failureOf(answer);
        await answer.text();
        return { ok: true, value: null };
      }),
    reportOutstanding: (report, signal) =>
      callQuickly(signal, async (headers, watch) => {
        const answer = await send(urlOf(url, storageApi.outstanding.path, {}), {
          method: 'PUT',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(report),
          signal: watch.signal,
        });
        if (!answer.ok) return failureOf(answer);
        await answer.text();
        return { ok: true, value: null };
      }),
    get: (key, rest, signal) => download(key, { url: toFile(key), rest }, signal),
    input: (path, rest, signal) =>
      download(path, { url: urlOf(base, '/*path', { path: path.split('/') }), rest }, signal),
    content: (sha256, from, signal) =>
      download(
        'the data',
        { url: urlOf(base, `/${dataBucket}/:name`, { name: sha256 }), rest: { from, sha256 } },
        signal,
      ),
  };
}

/** Waits for the response to a download. The inactivity timeout runs until the content has been read. */
async function openDownload(
  key: string,
  pendingAnswer: Promise<Answer>,
  watch: SilenceWatch,
): Promise<Answered<Download>> {
  const fail = (failed: Failed): Failed => {
    watch.stop();
    return failed;
  };
  try {
    const answer = await pendingAnswer;
    if (!answer.ok) return fail(await failureOf(answer));
    const download = downloadOf(answer, watch);
    if (download !== null) return { ok: true, value: download };
    await answer.body?.cancel();
    const detail = `the response for ${key} lacks its length or its digest`;
    return fail({ ok: false, failure: { kind: 'unexpected', status: answer.status, detail } });
  } catch (cause) {
    return fail({ ok: false, failure: { kind: 'unreachable', cause } });
  }
}

function progressIn({ headers }: Answer): Progress {
  const etag = headers.get('etag');
  return {
    offset: Number(headers.get('upload-offset') ?? 0),
    total: Number(headers.get('upload-length') ?? 0),
    sha256: etag === null ? null : digestIn(etag),
  };
}

const headersOf = ({ sha256, body, part }: Upload): Readonly<Record<string, string>> => ({
  'content-type': 'application/octet-stream',
  ...(sha256 !== null && { 'x-checksum-sha256': sha256 }),
  ...(part !== null && {
    'content-range': `bytes ${part.first}-${part.first + body.bytes - 1}/${part.total}`,
  }),
});

/** Returns null when the response lacks a body, a digest or a length. */
function downloadOf(
  answer: Answer,
  { onActivity, stop }: Pick<ReturnType<typeof watchSilence>, 'onActivity' | 'stop'>,
): Download | null {
  const { body, status, headers } = answer;
  const [, first = '0', whole = headers.get('content-length')] =
    status === 206 ? (/^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? []) : [];
  const sha256 = digestIn(headers.get('etag') ?? '');
  const bytes = Number(whole ?? Number.NaN);
  if (body === null || !/^[0-9a-f]{64}$/.test(sha256) || !Number.isSafeInteger(bytes)) return null;
  return {
    from: Number(first),
    bytes,
    sha256,
    async *pieces() {
      try {
        yield* reportActivity(piecesOf(body), onActivity);
      } finally {
        stop();
      }
    },
    async discard() {
      stop();
      await body.cancel();
    },
  };
}

async function* reportActivity(
  pieces: AsyncIterable<Uint8Array>,
  onActivity: () => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    onActivity();
    yield piece;
  }
}

const digestIn = (etag: string): string => etag.replace(/^"|"$/g, '').toLowerCase();

/** Returns the failure of an error response. Its body can be empty, as in the response to a HEAD. */
async function failureOf(answer: Answer): Promise<Failed> {
  const { status } = answer;
  const retryAfterMs = retryAfterIn(answer);
  const text = await answer.text();
  const problem = Problem.safeParse(parseJson(text));
  if (problem.success)
    return { ok: false, failure: { kind: 'problem', status, problem: problem.data }, retryAfterMs };
  const detail = `unexpected response ${status}: ${text.slice(0, 200)}`;
  return { ok: false, failure: { kind: 'unexpected', status, detail }, retryAfterMs };
}

/** Returns the `Retry-After` of a response in ms. Ignores a date, because the clocks of the two machines may differ. */
function retryAfterIn({ headers }: Answer): number | undefined {
  const value = headers.get('retry-after') ?? '';
  return /^\d+$/.test(value) ? Number(value) * 1_000 : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
