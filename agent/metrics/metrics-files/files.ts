import { lstat, open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { constants } from 'node:fs';

/**
 * The trainer may have replaced the file: links are refused, and opening a pipe does not block. Windows has neither
 * flag.
 */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads at most `bytes` from `offset`; null if the file cannot be read, or is no longer a regular file. */
export async function readPart(path: string, offset: number, bytes: number): Promise<Uint8Array | null> {
  try {
    const handle = await open(path, flags);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) return null;
      const buffer = new Uint8Array(Math.max(0, Math.min(bytes, stats.size - offset)));
      let filled = 0;
      while (filled < buffer.length) {
        const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return buffer.subarray(0, filled);
    } finally {
      await handle.close();
    }
  } catch {
    return null;
  }
}

export type FileKind = 'events' | 'csv' | 'state';

export interface MetricsFile {
  readonly kind: FileKind;
  readonly path: string;
  /** The folder, relative to the root. All event files of one folder are one run of TensorBoard. */
  readonly folder: string;
  readonly bytes: number;
  readonly changedAt: number;
}

const maxEntries = 5_000;
const maxDepth = 8;
/** The maximum number of files of each kind, newest first. A folder with more is an archive of many runs. */
const maxFiles = { events: 64, csv: 16, state: 4 } as const;

function kindOf(name: string): FileKind | null {
  if (/^events\.out\.tfevents\.[^/]{1,200}$/.test(name)) return 'events';
  if (name === 'metrics.csv') return 'csv';
  return name === 'trainer_state.json' ? 'state' : null;
}

/** Finds the metrics files below a folder, oldest first. Follows no links, so that no files outside are read. */
export async function findMetricsFiles(root: string): Promise<readonly MetricsFile[]> {
  const files: MetricsFile[] = [];
  const pending: Folder[] = [{ folder: '', depth: 1 }];
  let entriesLeft = maxEntries;

  const addFile = async (path: string, folder: string, kind: FileKind): Promise<void> => {
    const stats = await lstat(path).catch(() => null);
    if (stats?.isFile()) files.push({ kind, path, folder, bytes: stats.size, changedAt: stats.mtimeMs });
  };

  const read = async ({ folder, depth }: Folder): Promise<void> => {
    for await (const entry of await opendir(join(root, folder))) {
      if (entriesLeft === 0) return;
      entriesLeft -= 1;
      const kind = entry.isFile() ? kindOf(entry.name) : null;
      if (kind !== null) await addFile(join(root, folder, entry.name), folder, kind);
      else if (entry.isDirectory() && depth < maxDepth)
        pending.push({ folder: join(folder, entry.name), depth: depth + 1 });
    }
  };

  for (let next = pending.shift(); next !== undefined && entriesLeft > 0; next = pending.shift())
    // The trainer may have removed the folder, for example an old checkpoint.
    await read(next).catch(() => {});
  const inOrder = files.toSorted((a, b) => startOf(a) - startOf(b) || (a.path < b.path ? -1 : 1));
  return [...newest(inOrder, 'events'), ...newest(inOrder, 'csv'), ...newest(inOrder, 'state')];
}

interface Folder {
  readonly folder: string;
  readonly depth: number;
}

const newest = (files: readonly MetricsFile[], kind: FileKind): readonly MetricsFile[] =>
  files.filter(file => file.kind === kind).slice(-maxFiles[kind]);

/**
 * Returns when a file was created, in ms: the time in the name of an event file. For other files, returns the last
 * change.
 */
function startOf({ path, changedAt }: MetricsFile): number {
  const [, seconds] = /\.tfevents\.(\d{9,11})\.[^/\\]*$/.exec(path) ?? [];
  return seconds === undefined ? changedAt : Number(seconds) * 1_000;
}
