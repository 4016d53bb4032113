import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openHashCache } from '../../../datasets/hash-cache.ts';
import { indexFolder, type IndexedFolder } from '../../../datasets/index-folder.ts';
import type { BodyOf } from '../../../protocol/call.ts';
import { type CallFailure, type CallResult, type StreamBody, urlOf } from '../../../protocol/client.ts';
import { manifestText } from '../../../protocol/dataset.ts';
import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { Problem } from '../../../protocol/problem.ts';
import { sizeText } from '../../../protocol/size-text.ts';
import { CommandEnd, exitCodes, fail, failureOf, reasonOf } from '../failure.ts';
import { bar, createDisplay, duration } from '../progress-bar.ts';
import type { Remote } from '../remote.ts';

/** The published dataset, and what was uploaded for it. */
export interface Pushed {
  readonly dataset: DatasetView;
  readonly sent: { readonly files: number; readonly bytes: number };
}

/** How many contents one call asks the orchestrator about. */
const maxContents = 5_000;
const maxConcurrent = 8;
/** Contents can be removed between the check and the publication. The command then repeats both. */
const maxRounds = 3;
const maxTries = 6;
const firstPauseMs = 500;
/** Together a minute or more: publishing a dataset of many files takes a second. */
const maxPublishTries = 120;
const publishPauseMs = 500;
/** From this size on, the command first asks how much of a file an earlier command has sent. */
const largeBytes = 8 * 1_048_576;

interface Progress {
  readonly percent: number;
  readonly text: string;
}

const progressLine = ({ percent, text }: Progress): string => `${bar(percent)}  ${text}`;

/** Hashes a folder or file, with a progress bar. Ends the command if it cannot be pushed as it is. */
export async function indexData(
  remote: Pick<Remote, 'terminal' | 'env'>,
  path: string,
): Promise<IndexedFolder> {
  const root = resolve(path);
  const display = createDisplay<Progress>(remote.terminal.err, remote.terminal.errScreen, progressLine);
  const cache = await openHashCache(join(cacheHome(remote), 'hashes'), root, Date.now);
  try {
    const outcome = await indexFolder({
      root,
      cache,
      signal: new AbortController().signal,
      onProgress: ({ bytesDone, bytes }) =>
        display.show({ percent: percentOf(bytesDone, bytes), text: `reading ${basename(root)}` }),
    });
    await cache.save();
    if (outcome.ok) return outcome.folder;
    return fail(exitCodes.usage, `${path} cannot be pushed: ${outcome.problems.join('. ')}`);
  } catch (cause) {
    if (cause instanceof CommandEnd) throw cause;
    if (!existsSync(root)) return fail(exitCodes.notFound, `No file or folder ${path} on this machine`);
    return fail(exitCodes.usage, `${path} cannot be read: ${reasonOf(cause)}`);
  } finally {
    display.finish();
  }
}

const percentOf = (done: number, all: number): number => (all === 0 ? 100 : (done / all) * 100);

const cacheHome = ({ env }: Pick<Remote, 'env'>): string =>
  join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'trainyard');

/** Uploads the contents that the orchestrator lacks, then publishes a version of the dataset. */
export async function pushData(
  remote: Remote,
  folder: IndexedFolder,
  { name, isPinned }: { readonly name: string; readonly isPinned: boolean },
): Promise<Pushed> {
  const manifest = manifestText(folder.files);
  const version = createHash('sha256').update(manifest).digest('hex');
  const sources = sourcesOf(folder, { version, manifest });
  const sent = { files: 0, bytes: 0 };
  for (let round = 1; ; round += 1) {
    await sendMissing(remote, sources, sent);
    const made = await publish(remote, { name, version, pinned: isPinned });
    if (made.ok) return { dataset: made.value, sent };
    const isLacking = made.failure.kind === 'problem' && made.failure.problem.code === 'content_not_found';
    if (!isLacking || round === maxRounds)
      throw new CommandEnd(failureOf(made.failure, remote.connection().url));
  }
}

type Publish = typeof datasetsApi.publish;

/** Retries while the orchestrator is busy, because it publishes only a few datasets at a time. */
async function publish(remote: Remote, body: BodyOf<Publish>): Promise<CallResult<Publish>> {
  for (let attempt = 1; ; attempt += 1) {
    const made = await remote.call(datasetsApi.publish, { body, timeoutMs: 600_000 });
    const isBusy =
      !made.ok && made.failure.kind === 'problem' && made.failure.problem.code === 'too_many_uploads';
    if (!isBusy || attempt === maxPublishTries) return made;
    await setTimeout(publishPauseMs * (0.5 + Math.random()));
  }
}

/** A content of the dataset, and how to read it. */
interface Source {
  readonly sha256: string;
  readonly bytes: number;
  /** For messages; null for the manifest. */
  readonly path: string | null;
  /** Opens the content after its first `from` bytes. */
  bodyFrom(from: number): StreamBody;
}

function sourcesOf(
  { files, sources }: IndexedFolder,
  { version, manifest }: { readonly version: string; readonly manifest: string },
): ReadonlyMap<string, Source> {
  const found = new Map<string, Source>();
  for (const { path, sha256, bytes } of files) {
    const file = sources.get(path);
    if (file === undefined || found.has(sha256)) continue;
    found.set(sha256, { sha256, bytes, path, bodyFrom: from => fileBody(file, from, bytes) });
  }
  const text = Buffer.from(manifest);
  const bodyFrom = (from: number): StreamBody => ({
    bytes: text.length - from,
    async *pieces() {
      yield text.subarray(from);
    },
  });
  return found.set(version, { sha256: version, bytes: text.length, path: null, bodyFrom });
}

/** Reading fails if the file has become shorter. After any other change, the server computes another SHA-256. */
const fileBody = (file: string, from: number, bytes: number): StreamBody => ({
  bytes: bytes - from,
  async *pieces() {
    const handle: FileHandle = await open(file, 'r');
    try {
      const buffer = Buffer.allocUnsafe(1_048_576);
      for (let at = from; at < bytes; ) {
        const length = Math.min(buffer.length, bytes - at);
        const { bytesRead } = await handle.read(buffer, 0, length, at);
        if (bytesRead === 0) throw new Error('it has become shorter');
        at += bytesRead;
        yield Buffer.from(buffer.subarray(0, bytesRead));
      }
    } finally {
      await handle.close();
    }
  },
});

async function sendMissing(
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
  const display = createDisplay<Progress>(remote.terminal.err, remote.terminal.errScreen, progressLine);
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
  let isDone = false;
  const sendNext = async (): Promise<void> => {
    for (const source of queue) {
      if (isDone) return;
      const bytes = await sendOne(remote, source, addSent);
      if (source.path === null) continue;
      sent.files += 1;
      sent.bytes += bytes;
    }
  };
  try {
    await Promise.all(Array.from({ length: maxConcurrent }, sendNext));
  } finally {
    isDone = true;
    display.finish();
  }
}

/**
 * Sends a content, and continues where a broken connection or an earlier command stopped. Returns the number of bytes sent. Ends the
 * command if the content cannot be sent.
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

/** Returns the number of bytes that the server has; null when it has all of them. */
async function storedBytes(remote: Remote, { sha256, bytes }: Source): Promise<number | null> {
  const answer = await remote.call(datasetsApi.progress, { params: { digest: sha256 } });
  if (!answer.ok) return 0;
  const { complete, bytes: stored } = answer.value;
  // A part of full length that is not complete holds other content.
  return complete ? null : stored < bytes ? stored : 0;
}

async function put(
  { connection, fetch }: Remote,
  source: Source,
  from: number,
  onBytes: (bytes: number) => void,
): Promise<CallFailure | null> {
  const { url, token } = connection();
  const bodyFrom = source.bodyFrom(from);
  const range = { 'content-range': `bytes ${from}-${source.bytes - 1}/${source.bytes}` };
  try {
    const answer = await fetch(urlOf(url, datasetsApi.upload.path, { digest: source.sha256 }), {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/octet-stream',
        ...(source.bytes > 0 && range),
      },
      body: { bytes: bodyFrom.bytes, pieces: () => withCount(bodyFrom.pieces(), onBytes) },
    });
    const text = await answer.text();
    if (answer.ok) return null;
    const problem = Problem.safeParse(parseJson(text));
    return problem.success
      ? { kind: 'problem', status: answer.status, problem: problem.data }
      : { kind: 'unexpected', status: answer.status, detail: `it answered ${answer.status}` };
  } catch (cause) {
    return { kind: 'unreachable', cause };
  }
}

async function* withCount(
  pieces: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    onBytes(piece.length);
    yield piece;
  }
}

function isTransient(failure: CallFailure): boolean {
  if (failure.kind !== 'problem') return true;
  const { status } = failure;
  return status === 429 || status === 409 || status === 503 || (status >= 500 && status !== 507);
}

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
