import { setTimeout } from 'node:timers/promises';
import { type CallFailure, type StreamBody, urlOf } from '../../../protocol/client.ts';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { Problem } from '../../../protocol/problem.ts';
import { exitCodes, fail, failureOf, reasonOf } from '../failure.ts';
import { bar, createDisplay, duration } from '../progress-bar.ts';
import type { Remote } from '../remote.ts';
import { sizeText } from '../../../protocol/text.ts';

/** Maximum number of contents in one request that asks which contents are missing. */
const maxContents = 5_000;
const maxConcurrent = 8;
const maxTries = 6;
const firstPauseMs = 500;
/** For files of this size or more, the command first asks the server how much an earlier command has uploaded. */
const largeBytes = 8 * 1_048_576;

interface Progress {
  readonly percent: number;
  readonly text: string;
}

const progressLine = ({ percent, text }: Progress): string => `${bar(percent)}  ${text}`;

export const createDataDisplay = ({ terminal }: Pick<Remote, 'terminal'>) =>
  createDisplay<Progress>(terminal.err, terminal.errScreen, progressLine);

/** Returns 100 when there is nothing to do. */
export const percentOf = (done: number, all: number): number => (all === 0 ? 100 : (done / all) * 100);

/** A content (the bytes of one file, or of several equal files) of the dataset, and how to read it. */
export interface Source {
  readonly sha256: string;
  readonly bytes: number;
  /** The path that messages show; null for the manifest. */
  readonly path: string | null;
  /** Opens the content after its first `from` bytes. */
  bodyFrom(from: number): StreamBody;
}

/** Uploads the missing contents, several at a time. Adds the sent files and bytes to `sent`, without the manifest. */
export async function sendMissing(
  remote: Remote,
  sources: ReadonlyMap<string, Source>,
  sent: { files: number; bytes: number },
): Promise<void> {
  const missing: Source[] = [];
  const all = [...sources.keys()];
  for (let at = 0; at < all.length; at += maxContents) {
    const contents = all.slice(at, at + maxContents);
    const answer = await remote.request(datasetsApi.missing, { body: { contents } });
    missing.push(...answer.missing.flatMap(sha256 => sources.get(sha256) ?? []));
  }
  const total = missing.reduce((sum, { bytes }) => sum + bytes, 0);
  const display = createDataDisplay(remote);
  const startedAt = performance.now();
  let done = 0;
  const addSent = (bytes: number): void => {
    done += bytes;
    const bytesPerMs = done / (performance.now() - startedAt);
    const left = done > 0 && done < total ? `, ${duration((total - done) / bytesPerMs / 1_000)} left` : '';
    const text = `${sizeText(done)} of ${sizeText(total)} sent${left}`;
    display.show({ percent: percentOf(done, total), text });
  };
  const queue = missing.values();
  let isStopped = false;
  const sendNext = async (): Promise<void> => {
    for (const source of queue) {
      if (isStopped) return;
      const bytes = await sendOne(remote, source, addSent);
      if (source.path === null) continue;
      sent.files += 1;
      sent.bytes += bytes;
    }
  };
  try {
    await Promise.all(Array.from({ length: maxConcurrent }, sendNext));
  } finally {
    isStopped = true;
    display.finish();
  }
}

/**
 * Uploads a content. Continues where a broken connection or an earlier command stopped. Returns the number of bytes sent. Ends
 * the command if the upload fails.
 */
async function sendOne(remote: Remote, source: Source, addSent: (bytes: number) => void): Promise<number> {
  let counted = 0;
  let sent = 0;
  const count = (at: number): void => {
    addSent(at - counted);
    counted = at;
  };
  for (let attempt = 1; ; attempt += 1) {
    const isNew = attempt === 1 && source.bytes < largeBytes;
    const from = isNew ? 0 : await storedBytes(remote, source);
    count(from ?? source.bytes);
    if (from === null) return sent;
    const failure = await put(remote, source, from, bytes => {
      sent += bytes;
      count(counted + bytes);
    });
    if (failure === null) return sent;
    if (!isTransient(failure) || attempt === maxTries) return failToSend(remote, source, failure);
    await setTimeout(firstPauseMs * 2 ** (attempt - 1));
  }
}

/** Returns the number of bytes that the server has; null if the content is complete. */
async function storedBytes(remote: Remote, { sha256, bytes }: Source): Promise<number | null> {
  const answer = await remote.call(datasetsApi.progress, { params: { digest: sha256 } });
  if (!answer.ok) return 0;
  const { complete, bytes: stored } = answer.value;
  if (complete) return null;
  // A part with the full length that is not complete contains wrong data, so the whole content is sent again.
  return stored < bytes ? stored : 0;
}

async function put(
  { connection, fetch }: Remote,
  source: Source,
  from: number,
  onBytes: (bytes: number) => void,
): Promise<CallFailure | null> {
  const { url, token } = connection();
  const body = source.bodyFrom(from);
  let readFailure: { readonly cause: unknown } | null = null;
  const pieces = () => withCount(body.pieces(), onBytes, cause => (readFailure = { cause }));
  const range = { 'content-range': `bytes ${from}-${source.bytes - 1}/${source.bytes}` };
  try {
    const answer = await fetch(urlOf(url, datasetsApi.upload.path, { digest: source.sha256 }), {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/octet-stream',
        ...(source.bytes > 0 && range),
      },
      body: { bytes: body.bytes, pieces },
    });
    const text = await answer.text();
    if (answer.ok) return null;
    const problem = Problem.safeParse(parseJson(text));
    return problem.success
      ? { kind: 'problem', status: answer.status, problem: problem.data }
      : { kind: 'unexpected', status: answer.status, detail: `it answered ${answer.status}` };
  } catch (cause) {
    if (readFailure !== null) return failToRead(source, readFailure);
    return { kind: 'unreachable', cause };
  }
}

async function* withCount(
  pieces: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
  onReadFailure: (cause: unknown) => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of pieces) {
      onBytes(piece.length);
      yield piece;
    }
  } catch (cause) {
    onReadFailure(cause);
    throw cause;
  }
}

function isTransient(failure: CallFailure): boolean {
  if (failure.kind !== 'problem') return true;
  const { status } = failure;
  return status === 429 || status === 409 || status === 503 || (status >= 500 && status !== 507);
}

const failToRead = ({ path }: Source, { cause }: { readonly cause: unknown }): never =>
  fail(exitCodes.usage, `${path ?? 'The list of files'} cannot be read: ${reasonOf(cause)}`);

function failToSend(remote: Remote, { path }: Source, failure: CallFailure): never {
  const { code, message } = failureOf(failure, remote.connection().url);
  return fail(code, `${path ?? 'The list of files'} could not be sent: ${message}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
