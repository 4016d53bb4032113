import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openHashCache } from '../../../datasets/file-hashes.ts';
import { indexFolder, type IndexedFolder } from '../../../datasets/index-folder.ts';
import type { BodyOf } from '../../../protocol/call.ts';
import type { CallResult, StreamBody } from '../../../protocol/client.ts';
import { manifestText } from '../../../protocol/dataset.ts';
import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { CommandEnd, exitCodes, fail, failureOf, reasonOf } from '../failure.ts';
import type { Remote } from '../remote.ts';
import { createDataDisplay, percentOf, sendMissing, type Source } from './upload.ts';

/** The published dataset, and the number of files and bytes that were uploaded for it. */
export interface Pushed {
  readonly dataset: DatasetView;
  readonly sent: { readonly files: number; readonly bytes: number };
}

/** Maximum number of rounds of upload and publication. Another user may remove contents between the two steps. */
const maxRounds = 3;
/** The pauses between the tries add up to about a minute. The server publishes a large dataset in about a second. */
const maxPublishTries = 120;
const publishPauseMs = 500;

/** Hashes a folder or file, and shows a progress bar. Ends the command if the data cannot be pushed. */
export async function indexData(
  remote: Pick<Remote, 'terminal' | 'env'>,
  path: string,
): Promise<IndexedFolder> {
  const root = resolve(path);
  const display = createDataDisplay(remote);
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
    const published = await publish(remote, { name, version, pinned: isPinned });
    if (published.ok) return { dataset: published.value, sent };
    const lacksContent =
      published.failure.kind === 'problem' && published.failure.problem.code === 'content_not_found';
    if (!lacksContent || round === maxRounds)
      throw new CommandEnd(failureOf(published.failure, remote.connection().url));
  }
}

type Publish = typeof datasetsApi.publish;

/** Publishes the dataset. Retries while the orchestrator is busy, because it publishes only a few datasets at a time. */
async function publish(remote: Remote, body: BodyOf<Publish>): Promise<CallResult<Publish>> {
  for (let attempt = 1; ; attempt += 1) {
    const published = await remote.call(datasetsApi.publish, { body, timeoutMs: 600_000 });
    const isBusy =
      !published.ok &&
      published.failure.kind === 'problem' &&
      published.failure.problem.code === 'too_many_uploads';
    if (!isBusy || attempt === maxPublishTries) return published;
    await setTimeout(publishPauseMs * (0.5 + Math.random()));
  }
}

function sourcesOf(
  { files, sources }: IndexedFolder,
  { version, manifest }: { readonly version: string; readonly manifest: string },
): ReadonlyMap<string, Source> {
  const bySha256 = new Map<string, Source>();
  for (const { path, sha256, bytes } of files) {
    const file = sources.get(path);
    if (file === undefined || bySha256.has(sha256)) continue;
    bySha256.set(sha256, { sha256, bytes, path, bodyFrom: from => fileBody(file, from, bytes) });
  }
  const text = Buffer.from(manifest);
  const bodyFrom = (from: number): StreamBody => ({
    bytes: text.length - from,
    async *pieces() {
      yield text.subarray(from);
    },
  });
  return bySha256.set(version, { sha256: version, bytes: text.length, path: null, bodyFrom });
}

/**
 * Reads a file from the offset `from` on. Fails if the file has become shorter. After any other change, the server computes
 * another SHA-256 and refuses the content.
 */
const fileBody = (file: string, from: number, bytes: number): StreamBody => ({
  bytes: bytes - from,
  async *pieces() {
    const handle: FileHandle = await open(file, 'r');
    try {
      const buffer = Buffer.allocUnsafe(1_048_576);
      for (let at = from; at < bytes; ) {
        const length = Math.min(buffer.length, bytes - at);
        const { bytesRead } = await handle.read(buffer, 0, length, at);
        if (bytesRead === 0) throw new Error('the file has become shorter');
        at += bytesRead;
        yield Buffer.from(buffer.subarray(0, bytesRead));
      }
    } finally {
      await handle.close();
    }
  },
});
