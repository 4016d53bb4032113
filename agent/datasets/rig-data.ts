import { mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type ContentFiles, createContentFiles } from '../../datasets/content-files.ts';
import type { AgentConfig } from '../config/index.ts';
import type { Fetched } from '../artifacts/checkpoint-fetch.ts';
import type { JobOffer, PreparedJob } from '../job.ts';
import { openStorage, type StorageDeps } from '../artifacts/storage.ts';
import { createDatasetCache } from './cache.ts';
import { fetchData } from './job-data.ts';
import { cacheFolderOf } from './data-targets.ts';

/** Fetches the datasets or the inputs of an attempt. `onStage` receives the progress, as text for people. */
export type FetchData = (
  offer: JobOffer,
  job: PreparedJob,
  signal: AbortSignal,
  onStage: (stage: string) => void,
) => Promise<Fetched>;

export interface RigData {
  /** The versions in the cache, most recently used first. */
  readonly versions: () => readonly string[];
  readonly fetchData: FetchData;
}

/** Returns the store with the contents of all datasets on this rig. */
export const contentsOf = (workDir: string): ContentFiles =>
  createContentFiles(join(cacheFolderOf(workDir), 'contents'));

/**
 * Returns the maximum size of the cache in bytes. `dataCache`: the owner's limit; null for half of `availableBytes`, which
 * is the free space plus the current size of the cache.
 */
export const cacheLimit = (dataCache: number | null, availableBytes: number): number =>
  dataCache === null ? availableBytes / 2 : Math.min(dataCache, availableBytes);

/**
 * Opens the cache of this rig. It is in the folder of the jobs, so that jobs can link its files instead of copying
 * them.
 */
export async function openRigData(
  { workDir, dataCache }: Pick<AgentConfig, 'workDir' | 'dataCache'>,
  /** `over` fires when downloads must stop. */
  { over, ...storageDeps }: StorageDeps & { readonly over: AbortSignal },
): Promise<RigData> {
  const folder = cacheFolderOf(workDir);
  const free = async (): Promise<number> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  };
  const contents = contentsOf(workDir);
  const limit = async (): Promise<number> =>
    cacheLimit(dataCache, (await free()) + (await contents.totalBytes()));
  const cache = createDatasetCache({ folder, contents, limit, wall: Date.now });
  const listVersions = async (): Promise<readonly string[]> =>
    (await cache.list()).map(({ digest }) => digest);
  let versions = await listVersions();
  return {
    versions: () => versions,
    async fetchData(
      { upload_endpoint: endpoint, upload_token: token = '' },
      { dataTargets },
      signal,
      onStage,
    ) {
      const fetched = await fetchData(dataTargets, {
        workDir,
        contents,
        cache,
        storage: openStorage({ endpoint, token }, storageDeps),
        clock: storageDeps.clock,
        random: Math.random,
        mono: () => performance.now(),
        signal: AbortSignal.any([signal, over]),
        onStage,
      });
      // The cache may have removed older datasets, even for a fetch that failed.
      versions = await listVersions();
      return fetched;
    },
  };
}
