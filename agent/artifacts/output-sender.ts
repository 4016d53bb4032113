import { createHash } from 'node:crypto';
import { type CheckpointManifest, manifestName } from '../../protocol/artifact.ts';
import { type Content, createRunningDigest, type RunningDigest } from '../files/file-digest.ts';
import type { Found, Output } from './outputs.ts';
import { reasonOf } from '../files/failure-text.ts';
import { isGone, uploadBytes, type UploadEnd, uploadFile, type UploadDeps } from './upload.ts';

export interface SenderDeps extends UploadDeps {
  /** Returns the path of the file with this key. */
  readonly pathOf: (key: string) => string;
}

/** The result for an output. `already_stored`: the server already had all its files. */
export type OutputEnd = UploadEnd | { readonly kind: 'already_stored' };

export interface Sender {
  upload(output: Output): Promise<OutputEnd>;
}

/** The number of parallel uploads per checkpoint. More would need more memory without being faster. */
const parallelUploads = 4;

/** Uploads several files at a time. Returns the results in file order; after a failure, later results can be missing. */
async function uploadInParallel<T>(
  files: readonly T[],
  upload: (file: T) => Promise<UploadEnd | Content>,
): Promise<readonly (UploadEnd | Content | undefined)[]> {
  const ends: (UploadEnd | Content)[] = [];
  let next = 0;
  let isStopped = false;
  const work = async (): Promise<void> => {
    while (!isStopped && next < files.length) {
      const index = next;
      next += 1;
      const file = files[index];
      if (file === undefined) return;
      const end = await upload(file);
      ends[index] = end;
      if ('kind' in end) isStopped = true;
    }
  };
  await Promise.all(Array.from({ length: parallelUploads }, work));
  return ends;
}

/** Uploads files that the server does not have yet. `stored` maps each key of the server to its SHA-256. */
export function createSender(stored: Map<string, string>, deps: SenderDeps): Sender {
  const { pathOf, signal } = deps;
  const digests = new Map<string, Found & { readonly digest: RunningDigest }>();
  let sent = 0;

  const digestFor = (key: string, { bytes, changedAt }: Found): RunningDigest => {
    const entry = digests.get(key);
    if (entry?.bytes === bytes && entry.changedAt === changedAt) return entry.digest;
    const digest = createRunningDigest(pathOf(key));
    digests.set(key, { bytes, changedAt, digest });
    return digest;
  };

  /** Asks the server for its SHA-256 of this key, because the trainer may have uploaded the file after the listing. */
  const storedDigest = async (key: string): Promise<string | null> => {
    const answer = await deps.storage.progress(key, signal);
    return answer.ok ? (answer.value?.sha256 ?? null) : null;
  };

  const uploadOne = async (key: string, found: Found): Promise<UploadEnd | Content> => {
    try {
      const digest = digestFor(key, found);
      // Hash the file before the upload only if the server may already have it, because hashing reads the whole file.
      const content = async (): Promise<Content> => ({
        bytes: found.bytes,
        sha256: await digest.whole(signal),
      });
      const listed = stored.get(key);
      if (listed !== undefined && listed === (await content()).sha256) return await content();
      const current = await storedDigest(key);
      if (current === null || current !== (await content()).sha256) {
        const end = await uploadFile({ ...found, key, path: pathOf(key), sha256: digest }, deps);
        if (end.kind === 'changed') digests.delete(key);
        if (end.kind !== 'uploaded') return end;
        sent += 1;
      }
      const whole = await content();
      stored.set(key, whole.sha256);
      return whole;
    } catch (cause) {
      if (signal.aborted) return { kind: 'aborted' };
      return isGone(cause) ? { kind: 'changed' } : { kind: 'refused', why: reasonOf(cause) };
    }
  };

  /** Uploads the manifest from memory, because only the trainer may write to the folder. */
  const uploadManifest = async (name: string, files: CheckpointManifest['files']): Promise<OutputEnd> => {
    const key = `${name}/${manifestName}`;
    const bytes = Buffer.from(JSON.stringify({ files } satisfies CheckpointManifest));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (stored.get(key) === sha256) return { kind: 'already_stored' };
    const end = await uploadBytes(key, bytes, deps);
    if (end.kind === 'uploaded') stored.set(key, sha256);
    return end;
  };

  return {
    async upload({ name, files, isFolder }) {
      const sentBefore = sent;
      const ends = await uploadInParallel(files, ([key, found]) => uploadOne(key, found));
      const listed: CheckpointManifest['files'] = [];
      for (const [index, [key]] of files.entries()) {
        const end = ends[index] ?? { kind: 'aborted' };
        if ('kind' in end) return end;
        listed.push({ path: key.slice(name.length + 1), bytes: end.bytes, sha256: end.sha256 });
      }
      const last = isFolder ? await uploadManifest(name, listed) : { kind: 'already_stored' as const };
      return last.kind === 'already_stored' && sent > sentBefore ? { kind: 'uploaded' } : last;
    },
  };
}
