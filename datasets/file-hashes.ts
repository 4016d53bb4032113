import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BigIntStats } from 'node:fs';

/** Stores the SHA-256 of a folder's files, so that a push reads only files that have changed since the last push. */
export interface HashCache {
  /** Returns the SHA-256; null when the file is unknown or may have changed. */
  find(path: string, stats: BigIntStats): string | null;
  /** Adds the SHA-256 of a file, unless the file changed within the last two seconds. */
  note(path: string, stats: BigIntStats, sha256: string): void;
  /** Writes the cache with all entries that were found or noted. Ignores errors, because the cache is optional. */
  save(): Promise<void>;
}

/** Hashes of files that changed within this time are not stored. Such a file may change again without a new time stamp. */
const recentNs = 2_000_000_000n;

const stampOf = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  `${size} ${mtimeNs} ${ctimeNs} ${ino}`;

/** The cache file has a line per file: SHA-256, stamp, path. The path is last, because it may contain spaces. */
const lineForm = /^([0-9a-f]{64}) (\d+ \d+ \d+ \d+) (.+)$/;

/** Opens the cache for the files below `root`. The cache is a file in `folder`; if missing or damaged, it counts as empty. */
export async function openHashCache(folder: string, root: string, nowMs: () => number): Promise<HashCache> {
  const file = join(folder, `${createHash('sha256').update(root).digest('hex').slice(0, 32)}.index`);
  const stored = new Map<string, { readonly stamp: string; readonly sha256: string }>();
  const lines = new Map<string, string>();
  const text = await readFile(file, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    const [, sha256, stamp, path] = lineForm.exec(line) ?? [];
    if (sha256 && stamp && path) stored.set(path, { sha256, stamp });
  }
  const addLine = (path: string, stats: BigIntStats, sha256: string): void => {
    lines.set(path, `${sha256} ${stampOf(stats)} ${path}\n`);
  };
  return {
    find(path, stats) {
      const entry = stored.get(path);
      if (entry === undefined || entry.stamp !== stampOf(stats)) return null;
      addLine(path, stats, entry.sha256);
      return entry.sha256;
    },
    note(path, stats, sha256) {
      const changedNs = stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs;
      if (BigInt(nowMs()) * 1_000_000n - changedNs >= recentNs) addLine(path, stats, sha256);
    },
    async save() {
      const draft = `${file}.${process.pid}`;
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(draft, [...lines.values()].join(''), { mode: 0o600 });
        await rename(draft, file);
      } catch {
        await rm(draft, { force: true }).catch(() => {});
      }
    },
  };
}

const chunkBytes = 1_048_576;

/** Returns true if the file is unchanged. Every write changes at least one of these values. */
const isUnchanged = (a: BigIntStats, b: BigIntStats): boolean =>
  a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino;

interface Hashed {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly stats: BigIntStats;
}

/**
 * Hashes a whole file. Returns null if the file changed during the read, because the hash may be of a mix of old and new
 * bytes. Calls `onBytes` with the number of bytes of each read. Rejects when the file cannot be read, or when the signal
 * fires.
 */
export async function hashFile(
  path: string,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Hashed | null> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const handle = await open(path, 'r');
  try {
    const before = await handle.stat({ bigint: true });
    let remaining = Number(before.size);
    // Read only up to the initial size, because a file may grow faster than it is read.
    while (remaining > 0) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, Math.min(chunkBytes, remaining));
      if (bytesRead === 0) return null;
      hash.update(buffer.subarray(0, bytesRead));
      remaining -= bytesRead;
      onBytes(bytesRead);
    }
    const after = await handle.stat({ bigint: true });
    if (!isUnchanged(before, after)) return null;
    return { bytes: Number(after.size), sha256: hash.digest('hex'), stats: after };
  } finally {
    await handle.close();
  }
}
