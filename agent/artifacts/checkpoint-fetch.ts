import { copyFile, link, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ArtifactPath, CheckpointManifest, companionsOf, manifestName } from '../../protocol/artifact.ts';
import { downloadFile, type DownloadDeps } from './download.ts';
import type { Storage } from './storage.ts';
import { type Content, hasFile } from '../files/file-digest.ts';
import { isFullDisk, reasonOf, describeFailure, formatBytes } from '../files/failure-text.ts';
import { retry } from '../retry/retry.ts';
import { policyOf } from '../retry/decisions.ts';
import type { Answered } from './upload-token.ts';
import type { JobOffer } from '../job.ts';

export type Resume = NonNullable<JobOffer['resume']>;

/** The result of a fetch. `message`: text for the worker's log. */
export type Fetched =
  | { readonly kind: 'ready'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'aborted' };

/** A file to fetch. `key`: its path below the output folder. */
export interface Wanted extends Content {
  readonly key: string;
}

interface CheckpointDeps extends DownloadDeps {
  readonly storage: Storage;
}

/** The reason why the attempt cannot resume from the checkpoint. */
type Flawed = { readonly flaw: string };

const maxManifestBytes = 16 * 1_048_576;

/**
 * Downloads the checkpoint of `resume` into the attempt's output folder. The checkpoint has a temporary name until all
 * its files are complete and verified. Files that the rig already has are not downloaded again.
 */
export async function fetchCheckpoint(
  { checkpoint, step }: Resume,
  outputDir: string,
  deps: CheckpointDeps,
): Promise<Fetched> {
  const fail = (why: string): Fetched => ({ kind: 'failed', message: messageOf(checkpoint, why) });
  try {
    const listed = await listFiles(checkpoint, deps);
    if (deps.signal.aborted) return { kind: 'aborted' };
    if ('flaw' in listed) return fail(listed.flaw);
    const bytes = await fetchAll(checkpoint, listed, outputDir, deps);
    if (deps.signal.aborted) return { kind: 'aborted' };
    if (typeof bytes === 'object') return fail(bytes.flaw);
    for (const companion of await findCompanions(checkpoint, deps))
      await fetchAll(companion.key, [companion], outputDir, deps);
    if (deps.signal.aborted) return { kind: 'aborted' };
    const stepText = step === null ? '' : ` (step ${step})`;
    const how = bytes === 0 ? 'which is already on this rig' : `${formatBytes(bytes)} fetched`;
    return { kind: 'ready', message: `Resuming from ${checkpoint}${stepText}, ${how}` };
  } catch (cause) {
    return deps.signal.aborted ? { kind: 'aborted' } : fail(reasonOf(cause));
  }
}

function messageOf(checkpoint: string, why: string): string {
  const remedy = isFullDisk(why)
    ? 'Free space on the disk of --work-dir'
    : 'Delete that checkpoint. The job then resumes from an earlier one, or starts again';
  return `Checkpoint ${checkpoint} cannot be used to resume: ${why}. ${remedy}`;
}

/** Lists the files of the checkpoint: the checkpoint itself if it is a file, else the files in its manifest. */
async function listFiles(checkpoint: string, deps: CheckpointDeps): Promise<readonly Wanted[] | Flawed> {
  const { storage, signal } = deps;
  const file = await withRetries(() => storage.progress(checkpoint, signal), deps);
  if (!file.ok) return { flaw: describeFailure(file.failure) };
  if (file.value !== null && file.value.sha256 !== null)
    return [{ key: checkpoint, bytes: file.value.total, sha256: file.value.sha256 }];
  const manifest = await withRetries(() => readManifest(checkpoint, deps), deps);
  if (!manifest.ok)
    return {
      flaw: `neither the file nor ${manifestName} in the folder could be read (${describeFailure(manifest.failure)})`,
    };
  return filesIn(checkpoint, manifest.value);
}

/**
 * Returns the companion files of a checkpoint that the server has, such as ai-toolkit's `optimizer.pt`. Skips missing
 * files, because the trainer can resume without them, although less well.
 */
async function findCompanions(checkpoint: string, deps: CheckpointDeps): Promise<readonly Wanted[]> {
  const companions: Wanted[] = [];
  for (const key of companionsOf(checkpoint)) {
    const file = await withRetries(() => deps.storage.progress(key, deps.signal), deps);
    if (file.ok && file.value !== null && file.value.sha256 !== null)
      companions.push({ key, bytes: file.value.total, sha256: file.value.sha256 });
  }
  return companions;
}

async function readManifest(
  checkpoint: string,
  { storage, signal }: CheckpointDeps,
): Promise<Answered<string>> {
  const answer = await storage.get(`${checkpoint}/${manifestName}`, null, signal);
  if (!answer.ok) return answer;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of answer.value.pieces()) {
      bytes += piece.length;
      if (bytes > maxManifestBytes) break;
      pieces.push(piece);
    }
  } catch (cause) {
    return { ok: false, failure: { kind: 'unreachable', cause } };
  }
  return { ok: true, value: Buffer.concat(pieces).toString() };
}

/** Parses the manifest. Its paths are untrusted: each must be a valid artifact path, and none may occur twice. */
function filesIn(checkpoint: string, text: string): readonly Wanted[] | Flawed {
  const manifest = CheckpointManifest.safeParse(parseJson(text));
  if (!manifest.success) return { flaw: `its ${manifestName} is invalid` };
  const files = new Map<string, Wanted>();
  for (const { path, bytes, sha256 } of manifest.data.files) {
    const key = ArtifactPath.safeParse(`${checkpoint}/${path}`);
    if (!key.success || files.has(key.data))
      return { flaw: `its ${manifestName} has an invalid path: ${JSON.stringify(path.slice(0, 200))}` };
    files.set(key.data, { key: key.data, bytes, sha256 });
  }
  return [...files.values()];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Repeats a call while its failure may be temporary. */
async function withRetries<T>(
  call: () => Promise<Answered<T>>,
  { clock, random, signal }: DownloadDeps,
): Promise<Answered<T>> {
  const end = await retry(call, { ...policyOf('download'), clock, random, signal });
  if (end.kind === 'done') return { ok: true, value: end.value };
  return {
    ok: false,
    failure: end.kind === 'stopped' ? end.failure : { kind: 'unreachable', cause: signal.reason },
  };
}

/**
 * Downloads the files of a folder, or one file, into `outputDir`. The files get their final names when all are
 * complete. Resolves with the number of downloaded bytes, or with the reason why the download failed. After an abort,
 * the number does not mean success.
 */
export async function fetchAll(
  checkpoint: string,
  files: readonly Wanted[],
  outputDir: string,
  deps: DownloadDeps,
): Promise<number | Flawed> {
  const { signal } = deps;
  const present = new Set<string>();
  for (const file of files) if (await hasFile(outputDir, file.key, file, signal)) present.add(file.key);
  if (present.size === files.length || signal.aborted) return 0;
  const parent = await openFolder(outputDir, dirname(checkpoint));
  const unfinished = `.${basename(checkpoint)}.fetching`;
  await removeOtherDownloads(parent, unfinished);
  let bytes = 0;
  for (const { key, ...content } of files) {
    const within = key === checkpoint ? unfinished : join(unfinished, key.slice(checkpoint.length + 1));
    const file = join(await openFolder(parent, dirname(within)), basename(within));
    if (present.has(key)) {
      await rm(file, { recursive: true, force: true });
      await link(join(outputDir, key), file).catch(() => copyFile(join(outputDir, key), file));
      continue;
    }
    const end = await downloadFile(key, file, content, deps);
    if (end.kind === 'aborted') return bytes;
    if (end.kind === 'failed') {
      // Remove the incomplete download, because the disk may be full.
      await rm(join(parent, unfinished), { recursive: true, force: true });
      return { flaw: end.why };
    }
    bytes += end.bytes;
  }
  await rm(join(outputDir, checkpoint), { recursive: true, force: true });
  await rename(join(parent, unfinished), join(outputDir, checkpoint));
  return bytes;
}

/** Removes unfinished downloads of other checkpoints, which earlier attempts left. */
async function removeOtherDownloads(parent: string, unfinished: string): Promise<void> {
  for (const name of await readdir(parent))
    if (/^\..*\.fetching$/.test(name) && name !== unfinished)
      await rm(join(parent, name), { recursive: true, force: true });
}

/**
 * Creates the missing folders of a path, and returns the path. Rejects when a part of the path exists but is a file or a
 * link, because a link may lead anywhere.
 */
async function openFolder(root: string, path: string): Promise<string> {
  let folder = root;
  for (const name of path.split(/[/\\]/).filter(part => part !== '.')) {
    folder = join(folder, name);
    await mkdir(folder, { mode: 0o700 }).catch(async (cause: unknown) => {
      const stats = await lstat(folder).catch(() => null);
      if (stats === null) throw cause;
      if (!stats.isDirectory()) throw new Error(`${folder} exists and is not a folder`);
    });
  }
  return folder;
}
