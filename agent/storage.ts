import { type Answer, piecesOf, urlOf } from '../protocol/client.ts';
import { Problem } from '../protocol/problem.ts';
import { commonBucket, dataBucket, storageApi } from '../protocol/storage-api.ts';
import type { RenewCall } from './api-client.ts';
import type { Clock } from './clock.ts';
import type { Send, Stretch } from './http-fetch.ts';
import { type Answered, createRenewing, type Failed } from './upload-token.ts';

/** Where an attempt may bring its files, and what opens that. */
export interface StoragePlace {
  /** Below the orchestrator's address. */
  readonly endpoint: string;
  readonly token: string;
}

export interface StorageParts {
  /** The orchestrator's address. */
  readonly url: string;
  readonly send: Send;
  readonly clock: Clock;
  readonly renew: RenewCall;
}

/** How much of an upload has come. */
export interface Progress {
  readonly offset: number;
  readonly total: number;
  /** Of a file that is there whole. */
  readonly sha256: string | null;
}

export interface Download {
  /** The first byte that comes. */
  readonly from: number;
  /** Of the whole file. */
  readonly bytes: number;
  readonly sha256: string;
  /** Throws when the way breaks, or nothing comes any more. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Of what was not read. */
  leave(): Promise<void>;
}

export interface Upload {
  /** Of the whole file; null when it is not known yet, because further parts follow. */
  readonly sha256: string | null;
  readonly body: Stretch;
  /** Where in the file the body is; null when it is all of it. */
  readonly part: { readonly first: number; readonly total: number } | null;
}

/** What an attempt has not uploaded after its completed end. */
export interface OutstandingReport {
  readonly files: number;
  readonly bytes: number;
  readonly reason: string | null;
}

/** The files of one job, as the trainer of its attempt sees them. Failures are values; nothing is repeated here. */
export interface Storage {
  /** The digests of all that is there, by key. */
  list(signal: AbortSignal): Promise<Answered<ReadonlyMap<string, string>>>;
  /** Null when nothing of it is there. */
  progress(key: string, signal: AbortSignal): Promise<Answered<Progress | null>>;
  put(key: string, upload: Upload, signal: AbortSignal): Promise<Answered<unknown>>;
  /** 0 files closes the uploads of the attempt. */
  reportOutstanding(report: OutstandingReport, signal: AbortSignal): Promise<Answered<unknown>>;
  /** From this byte on, unless the file is another by now than the one with this digest: then from its first. */
  get(
    key: string,
    rest: { readonly from: number; readonly sha256: string } | null,
    signal: AbortSignal,
  ): Promise<Answered<Download>>;
  /** A file of a dataset, from this byte on: contents never change. */
  content(sha256: string, from: number, signal: AbortSignal): Promise<Answered<Download>>;
}

/** The orchestrator reads a large file once more before it answers. */
const silenceMs = 120_000;
/**
 * The answer to a call without a file takes no work: a longer silence means that the connection is dead.
 *
 * @internal
 */
export const quickSilenceMs = 20_000;

/** A signal that also fires when nothing has moved for this long. */
function watchSilence(clock: Clock, signal: AbortSignal, ms = silenceMs) {
  const silent = new AbortController();
  const arm = (): (() => void) =>
    clock.after(ms, () => silent.abort(new Error(`nothing has moved for ${ms / 1_000} seconds`)));
  let takeBack = arm();
  return {
    signal: AbortSignal.any([signal, silent.signal]),
    moved() {
      takeBack();
      takeBack = arm();
    },
    over: () => takeBack(),
  };
}

type SilenceWatch = ReturnType<typeof watchSilence>;
type Headers = Readonly<Record<string, string>>;

/** Makes calls that fail when nothing has moved for too long, with an upload token that is renewed after a rotation. */
const createWatched =
  (clock: Clock, ms: number, renewing: ReturnType<typeof createRenewing>) =>
  <T>(
    signal: AbortSignal,
    ask: (headers: Headers, watch: SilenceWatch) => Promise<Answered<T>>,
  ): Promise<Answered<T>> =>
    renewing(signal, async headers => {
      const watch = watchSilence(clock, signal, ms);
      try {
        return await ask(headers, watch);
      } catch (cause) {
        return { ok: false, failure: { kind: 'unreachable', cause } };
      } finally {
        watch.over();
      }
    });

export function openStorage(place: StoragePlace, { url, send, clock, renew }: StorageParts): Storage {
  const base = `${url}${place.endpoint}`;
  const renewing = createRenewing(place.token, renew);
  const toFile = (key: string): URL => urlOf(base, `/${commonBucket}/*key`, { key: key.split('/') });
  const download = (
    name: string,
    from: { readonly url: URL; readonly rest: { readonly from: number; readonly sha256: string } | null },
    signal: AbortSignal,
  ): Promise<Answered<Download>> =>
    renewing(signal, headers => {
      const { rest } = from;
      const range = rest !== null &&
        rest.from > 0 && { range: `bytes=${rest.from}-`, 'if-range': `"${rest.sha256}"` };
      const watch = watchSilence(clock, signal);
      const asked = send(from.url, { headers: { ...headers, ...range }, signal: watch.signal });
      return openDownload(name, asked, watch);
    });
  const quickly = createWatched(clock, quickSilenceMs, renewing);
  const patiently = createWatched(clock, silenceMs, renewing);
  return {
    list: signal =>
      quickly(signal, async (headers, watch) => {
        const there = new Map<string, string>();
        for (let cursor: string | null = ''; cursor !== null; ) {
          const page = urlOf(base, `/${commonBucket}`, {}, cursor === '' ? {} : { cursor });
          const answer = await send(page, { headers, signal: watch.signal });
          const body = answer.ok ? storageApi.list.reply.safeParse(parseJson(await answer.text())) : null;
          if (!body?.success) return failureOf(answer);
          for (const { Key, ETag } of body.data.Contents) there.set(Key, digestIn(ETag));
          cursor = body.data.NextCursor;
          watch.moved();
        }
        return { ok: true, value: there };
      }),
    progress: (key, signal) =>
      quickly(signal, async (headers, watch) => {
        const answer = await send(toFile(key), { method: 'HEAD', headers, signal: watch.signal });
        await answer.text();
        if (answer.status === 404) return { ok: true, value: null };
        return answer.ok ? { ok: true, value: progressIn(answer) } : failureOf(answer);
      }),
    put: (key, upload, signal) =>
      patiently(signal, async (headers, watch) => {
        const { body, part } = upload;
        const answer = await send(toFile(key), {
          method: 'PUT',
          headers: { ...headers, ...headersOf(upload) },
          body: { bytes: body.bytes, pieces: () => noted(body.pieces(), watch.moved) },
          signal: watch.signal,
        });
        const isTaken = answer.ok || (part !== null && answer.status === 308);
        if (!isTaken) return failureOf(answer);
        await answer.text();
        return { ok: true, value: null };
      }),
    reportOutstanding: (report, signal) =>
      quickly(signal, async (headers, watch) => {
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
    content: (sha256, from, signal) =>
      download(
        'The data',
        { url: urlOf(base, `/${dataBucket}/:name`, { name: sha256 }), rest: { from, sha256 } },
        signal,
      ),
  };
}

/** The silence of a download is watched until it has been read. */
async function openDownload(
  key: string,
  asked: Promise<Answer>,
  watch: SilenceWatch,
): Promise<Answered<Download>> {
  const fail = (failed: Failed): Failed => {
    watch.over();
    return failed;
  };
  try {
    const answer = await asked;
    if (!answer.ok) return fail(await failureOf(answer));
    const download = downloadOf(answer, watch);
    if (download !== null) return { ok: true, value: download };
    await answer.body?.cancel();
    const detail = `${key} came without its length, or without its digest`;
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

/** Null when it does not say what a file needs. */
function downloadOf(
  answer: Answer,
  { moved, over }: Pick<ReturnType<typeof watchSilence>, 'moved' | 'over'>,
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
        yield* noted(piecesOf(body), moved);
      } finally {
        over();
      }
    },
    async leave() {
      over();
      await body.cancel();
    },
  };
}

async function* noted(
  pieces: AsyncIterable<Uint8Array>,
  moved: () => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    moved();
    yield piece;
  }
}

const digestIn = (etag: string): string => etag.replace(/^"|"$/g, '').toLowerCase();

/** A refusal may have nothing in it, as that of a HEAD has. */
async function failureOf(answer: Answer): Promise<Failed> {
  const { status } = answer;
  const text = await answer.text();
  const problem = Problem.safeParse(parseJson(text));
  if (problem.success) return { ok: false, failure: { kind: 'problem', status, problem: problem.data } };
  const detail = `it was answered ${status} with something unexpected: ${text.slice(0, 200)}`;
  return { ok: false, failure: { kind: 'unexpected', status, detail } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
