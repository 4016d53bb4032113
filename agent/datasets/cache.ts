import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestText, parseManifest, type DatasetFile } from '../../protocol/dataset.ts';
import { formatBytes } from '../files/failure-text.ts';
import type { ContentFiles } from '../../datasets/content-files.ts';

/** A version of a dataset whose files are all on this rig. */
export interface CachedDataset {
  /** The SHA-256 of its manifest. */
  readonly digest: string;
  readonly bytes: number;
  /** When a job last used it, in ms since 1970. */
  readonly usedAt: number;
}

export type Room =
  | { readonly ok: true }
  /** A sentence without its full stop. */
  | { readonly ok: false; readonly reason: string };

/** The datasets on a rig. The least recently used versions are deleted when other datasets need the space. */
export interface DatasetCache {
  /** Returns the cached versions, the most recently used first. */
  list(): Promise<readonly CachedDataset[]>;
  /** Returns the files of a cached version; null if it is not cached. */
  filesOf(digest: string): Promise<readonly DatasetFile[] | null>;
  /** Deletes old versions until these files fit, except the versions in `inUse`. */
  makeRoom(files: readonly DatasetFile[], inUse: ReadonlySet<string>): Promise<Room>;
  /** Records a version whose contents have all been fetched. */
  complete(digest: string, files: readonly DatasetFile[]): Promise<void>;
  /** Records that a job uses a version now. */
  touch(digest: string): Promise<void>;
}

export interface CacheOptions {
  readonly folder: string;
  readonly contents: ContentFiles;
  /** Returns the maximum size of the cache in bytes. */
  readonly limit: () => Promise<number>;
  /** ms since 1970. */
  readonly wall: () => number;
}

interface Entry extends CachedDataset {
  readonly files: readonly DatasetFile[];
}

const digestPattern = /^[0-9a-f]{64}$/;

/**
 * A version is in the cache if its manifest is there. The modification time of the manifest is the time of its last
 * use.
 */
export function createDatasetCache({ folder, contents, limit, wall }: CacheOptions): DatasetCache {
  const manifests = join(folder, 'manifests');

  const entries = async (): Promise<readonly Entry[]> => {
    const cached: Entry[] = [];
    for (const digest of await readdir(manifests).catch((): string[] => [])) {
      const file = join(manifests, digest);
      const manifest = digestPattern.test(digest)
        ? parseManifest(await readFile(file, 'utf8').catch(() => ''))
        : null;
      if (manifest?.ok)
        cached.push({
          digest,
          files: manifest.files,
          bytes: bytesOf([manifest.files]),
          usedAt: (await stat(file)).mtimeMs,
        });
    }
    return cached.toSorted((a, b) => b.usedAt - a.usedAt);
  };

  const touch = async (digest: string): Promise<void> => {
    const now = new Date(wall());
    await utimes(join(manifests, digest), now, now);
  };

  return {
    list: async () => (await entries()).map(({ digest, bytes, usedAt }) => ({ digest, bytes, usedAt })),
    async filesOf(digest) {
      const manifest = parseManifest(await readFile(join(manifests, digest), 'utf8').catch(() => ''));
      return manifest.ok ? manifest.files : null;
    },
    async makeRoom(files, inUse) {
      const needed = bytesOf([files]);
      const limitBytes = await limit();
      if (needed > limitBytes)
        return {
          ok: false,
          reason: `The data is ${formatBytes(needed)}, but this rig's cache can hold only ${formatBytes(limitBytes)}: free disk space, or raise --data-cache`,
        };
      const fits = (others: readonly Entry[]): boolean =>
        bytesOf([files, ...others.map(each => each.files)]) <= limitBytes;
      const all = await entries();
      const entriesToKeep = all.filter(({ digest }) => inUse.has(digest));
      for (const entry of all.filter(({ digest }) => !inUse.has(digest)))
        if (fits([...entriesToKeep, entry])) entriesToKeep.push(entry);
      if (!fits(entriesToKeep))
        return {
          ok: false,
          reason: `The data is ${formatBytes(needed)}, but the data of running jobs leaves too little of this rig's cache of ${formatBytes(limitBytes)}: raise --data-cache`,
        };
      const keptVersions = new Set(entriesToKeep.map(({ digest }) => digest));
      const keptFiles = [...files, ...entriesToKeep.flatMap(each => each.files)];
      const keptContents = new Set(keptFiles.map(({ sha256 }) => sha256));
      for (const name of await readdir(manifests).catch((): string[] => []))
        if (!keptVersions.has(name)) await rm(join(manifests, name), { recursive: true, force: true });
      for await (const sha256 of contents.all()) if (!keptContents.has(sha256)) await contents.remove(sha256);
      for await (const { sha256 } of contents.parts())
        if (!keptContents.has(sha256)) await contents.remove(sha256);
      return { ok: true };
    },
    async complete(digest, files) {
      await mkdir(manifests, { recursive: true, mode: 0o700 });
      const draft = join(folder, `${digest}.draft`);
      const handle = await open(draft, 'w', 0o600);
      try {
        await handle.writeFile(manifestText(files));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, join(manifests, digest));
      await touch(digest);
    },
    touch,
  };
}

/** Returns the total size of these datasets in bytes. Content that several datasets share counts once. */
function bytesOf(datasets: readonly (readonly DatasetFile[])[]): number {
  const sizes = new Map(
    datasets.flatMap(files => files.map(({ sha256, bytes }) => [sha256, bytes] as const)),
  );
  return sizes.values().reduce((sum, bytes) => sum + bytes, 0);
}
