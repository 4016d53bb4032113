import { createHash } from 'node:crypto';
import { relative, sep } from 'node:path';
import type { ContentFiles } from '../../datasets/content-files.ts';
import { layOut } from '../../datasets/lay-out.ts';
import { type DatasetFile, parseManifest } from '../../protocol/dataset.ts';
import type { Fetched } from '../artifacts/checkpoint-fetch.ts';
import type { DownloadDeps } from '../artifacts/download.ts';
import { describeFailure, isFullDisk, reasonOf, formatBytes } from '../files/failure-text.ts';
import { decide, waits } from '../retry/decisions.ts';
import { retry, type RetryAnswer } from '../retry/retry.ts';
import type { Storage } from '../artifacts/storage.ts';
import type { DatasetCache } from './cache.ts';
import { type ContentSource, type FetchProgress, fetchContents } from './fetch-contents.ts';
import { claimData } from './data-targets.ts';
import type { DataTarget } from '../job.ts';

export interface DataDeps extends DownloadDeps {
  readonly storage: Storage;
  /** The folder that contains the folders of all jobs. */
  readonly workDir: string;
  readonly contents: ContentFiles;
  readonly cache: DatasetCache;
  /** Returns the time of a monotonic clock in ms. */
  readonly mono: () => number;
  /** Receives the current activity of the job, as text for people. */
  readonly onStage: (stage: string) => void;
}

interface FetchedDataset {
  readonly target: DataTarget;
  readonly files: readonly DatasetFile[];
}

/** Downloads the datasets of a job into the cache of this rig, and links their files into the job's folder. */
export async function fetchData(dataTargets: readonly DataTarget[], deps: DataDeps): Promise<Fetched> {
  const { signal } = deps;
  try {
    const fetched = await fetchAll(dataTargets, deps);
    if (signal.aborted) return { kind: 'aborted' };
    return typeof fetched === 'string'
      ? { kind: 'failed', message: messageOf(fetched) }
      : { kind: 'ready', message: describeFetched(dataTargets, fetched) };
  } catch (cause) {
    return signal.aborted ? { kind: 'aborted' } : { kind: 'failed', message: messageOf(reasonOf(cause)) };
  }
}

function messageOf(why: string): string {
  const remedy = isFullDisk(why) ? '. Free space on the disk of --work-dir' : '';
  return `The data of this job cannot be fetched: ${why}${remedy}`;
}

const describeFetched = (dataTargets: readonly DataTarget[], fetched: number): string =>
  `Data: ${dataTargets.map(({ data }) => data.path).join(', ')}; ${fetched === 0 ? 'already on this rig' : `${formatBytes(fetched)} fetched`}`;

/** Returns the number of downloaded bytes, or why the data cannot be fetched. */
async function fetchAll(dataTargets: readonly DataTarget[], deps: DataDeps): Promise<number | string> {
  const { contents, cache, storage, signal } = deps;
  deps.onStage('Fetching data');
  const datasets: FetchedDataset[] = [];
  for (const target of dataTargets) {
    const files = await manifestOf(target.data.version, deps);
    if (typeof files === 'string') return files;
    datasets.push({ target, files });
  }
  if (signal.aborted) return 0;
  await claimDataFolder(dataTargets, deps.workDir);
  const requiredFiles = datasets.flatMap(({ files }) => files);
  const room = await cache.makeRoom(requiredFiles, new Set(dataTargets.map(({ data }) => data.version)));
  if (!room.ok) return room.reason;
  const onProgress = createProgressReport(deps);
  const end = await fetchContents({
    ...deps,
    required: requiredFiles,
    contents,
    source: sourceOf(storage),
    onProgress,
  });
  if (end.kind === 'failed') return end.why;
  if (end.kind === 'aborted') return 0;
  for (const { target, files } of datasets) {
    await cache.complete(target.data.version, files);
    const { folder, path, data } = target;
    // With `is_file`, the data is a single file. It gets the name from the config, not the name in the manifest.
    const filesToLink = data.is_file
      ? files.map(file => ({ ...file, path: path.slice(folder.length + 1) }))
      : files;
    const out = await layOut({ files: filesToLink, contents, folder, platform: process.platform, signal });
    if (!out.ok) return out.reason;
  }
  return end.fetched;
}

async function claimDataFolder([first]: readonly DataTarget[], workDir: string): Promise<void> {
  // All targets are below the folder of the job. Its name is the first part of the path.
  const [jobFolder] = first === undefined ? [] : relative(workDir, first.folder).split(sep);
  if (jobFolder !== undefined) await claimData(workDir, jobFolder);
}

const sourceOf = (storage: Storage): ContentSource => ({
  async open(sha256, from, signal) {
    const answer = await storage.content(sha256, from, signal);
    if (answer.ok) return { kind: 'open', from: answer.value.from, pieces: answer.value.pieces() };
    const { failure, retryAfterMs } = answer;
    return decide('download', failure) === 'retry'
      ? { kind: 'later', retryAfterMs }
      : { kind: 'refused', why: describeFailure(failure) };
  },
});

/** The maximum size of a manifest in bytes. The orchestrator accepts no larger manifest. */
const maxManifestBytes = 256 * 1_048_576;
const maxWrongHashes = 2;

type Manifest = readonly DatasetFile[] | string;

/** Returns the files of a version, or why the manifest cannot be fetched. */
async function manifestOf(version: string, deps: DataDeps): Promise<Manifest> {
  const { cache, clock, random, signal } = deps;
  const cached = await cache.filesOf(version);
  if (cached !== null) return cached;
  const source = sourceOf(deps.storage);
  let wrongHashes = 0;
  // `ok` ends the retries. The value is the files, or why they cannot be fetched.
  const fetch = async (): Promise<RetryAnswer<Manifest, 'broken'>> => {
    const opened = await source.open(version, 0, signal);
    if (opened.kind === 'refused') return { ok: true, value: opened.why };
    if (opened.kind === 'later') return { ok: false, failure: 'broken', retryAfterMs: opened.retryAfterMs };
    const text = await textOf(opened.pieces);
    if (text === null) return { ok: false, failure: 'broken' };
    if (createHash('sha256').update(text).digest('hex') === version) {
      const manifest = parseManifest(text);
      return { ok: true, value: manifest.ok ? manifest.files : manifest.reason };
    }
    wrongHashes += 1;
    return wrongHashes === maxWrongHashes
      ? { ok: true, value: 'The list of files arrived with the wrong SHA-256' }
      : { ok: false, failure: 'broken' };
  };
  const end = await retry(fetch, { clock, random, signal, waits: waits.download, decide: () => 'retry' });
  return end.kind === 'done' ? end.value : [];
}

/**
 * Returns null when the connection breaks. For a manifest that is too large, returns an empty text, which has the wrong
 * hash.
 */
async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string | null> {
  const received: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > maxManifestBytes) return '';
      received.push(piece);
    }
  } catch {
    return null;
  }
  return Buffer.concat(received).toString();
}

/** Creates a function that reports the downloaded bytes and the estimated remaining time. */
function createProgressReport({ mono, onStage }: DataDeps): (progress: FetchProgress) => void {
  let start: { readonly at: number; readonly bytes: number } | null = null;
  return ({ bytesHere, bytes }) => {
    start ??= { at: mono(), bytes: bytesHere };
    const pace = (bytesHere - start.bytes) / (mono() - start.at);
    const left =
      pace > 0 && bytesHere < bytes ? `, ${describeDuration((bytes - bytesHere) / pace)} left` : '';
    onStage(`Fetching data: ${formatBytes(bytesHere)} of ${formatBytes(bytes)}${left}`);
  };
}

function describeDuration(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return 'less than a minute';
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
