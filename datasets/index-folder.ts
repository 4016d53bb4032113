import { checkManifest, type DatasetFile } from '../protocol/dataset.ts';
import { type SourceFile, walkFolder } from './folder-walk.ts';
import { type HashCache, hashFile } from './file-hashes.ts';

export interface IndexedFolder {
  /** Sorted by path. */
  readonly files: readonly DatasetFile[];
  /** The file to read for each path in the dataset. */
  readonly sources: ReadonlyMap<string, string>;
  readonly bytes: number;
  /** Number of skipped entries, such as `.DS_Store`, that operating systems and editors leave behind. */
  readonly skipped: number;
}

export type IndexOutcome =
  | { readonly ok: true; readonly folder: IndexedFolder }
  /** Sentences without their full stop. */
  | { readonly ok: false; readonly problems: readonly string[] };

export interface IndexProgress {
  readonly filesDone: number;
  readonly files: number;
  readonly bytesDone: number;
  readonly bytes: number;
}

export interface IndexOptions {
  /** The folder, or a single file. */
  readonly root: string;
  readonly cache: HashCache;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: IndexProgress) => void;
}

/** Number of files that are hashed at the same time. A higher number would slow down hard disks. */
const concurrency = 4;
/** Maximum number of tries to hash a file that changes during the read, for example because it is being copied. */
const maxTries = 3;

/** Finds and hashes all files of a folder. Rejects when a file cannot be read, or when the signal fires. */
export async function indexFolder({ root, cache, signal, onProgress }: IndexOptions): Promise<IndexOutcome> {
  const walked = await walkFolder(root, signal);
  if (walked.problems.length > 0) return { ok: false, problems: walked.problems };
  const progress = { filesDone: 0, files: walked.files.length, bytesDone: 0, bytes: 0 };
  for (const { stats } of walked.files) progress.bytes += Number(stats.size);
  const indexed: DatasetFile[] = [];
  const problems: string[] = [];

  const index = async (file: SourceFile): Promise<void> => {
    const hashed = await digestOf(file, cache, signal, bytes => {
      progress.bytesDone += bytes;
      onProgress({ ...progress });
    });
    if (hashed === null)
      problems.push(`${file.path} is changing: push the folder again when no program writes to it`);
    else indexed.push({ path: file.path, ...hashed });
    progress.filesDone += 1;
    onProgress({ ...progress });
  };

  const remaining = walked.files.values();
  const work = async (): Promise<void> => {
    for (const file of remaining) await index(file);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const checked = checkManifest(indexed);
  if (problems.length > 0) return { ok: false, problems };
  if (!checked.ok) return { ok: false, problems: [checked.reason] };
  const sources = new Map(walked.files.map(({ path, source }) => [path, source]));
  const bytes = indexed.reduce((sum, file) => sum + file.bytes, 0);
  return { ok: true, folder: { files: checked.files, sources, bytes, skipped: walked.skipped } };
}

/** Returns the cached or computed hash; null when the file changes during each read. */
async function digestOf(
  { path, source, stats }: SourceFile,
  cache: HashCache,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<Pick<DatasetFile, 'bytes' | 'sha256'> | null> {
  const cachedHash = cache.find(path, stats);
  if (cachedHash !== null) {
    onBytes(Number(stats.size));
    return { bytes: Number(stats.size), sha256: cachedHash };
  }
  for (let tries = 0; tries < maxTries; tries += 1) {
    let read = 0;
    const hashed = await hashFile(
      source,
      bytes => {
        read += bytes;
        onBytes(bytes);
      },
      signal,
    );
    if (hashed !== null) {
      cache.note(path, hashed.stats, hashed.sha256);
      return { bytes: hashed.bytes, sha256: hashed.sha256 };
    }
    onBytes(-read);
  }
  return null;
}
