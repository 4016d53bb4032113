import type { BigIntStats } from 'node:fs';
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const chunkBytes = 1_048_576;

/** Whether the file is the same: every write changes at least one of these values. */
const isUnchanged = (a: BigIntStats, b: BigIntStats): boolean =>
  a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs && a.ino === b.ino;

export interface Hashed {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly stats: BigIntStats;
}

/**
 * Hashes a whole file. Returns null if the file changed during the read, because the hash may mix old and new bytes.
 * `onBytes` gets the number of bytes of each read. Rejects when the file cannot be read, and when the signal fires.
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
    // Reads up to the size at the start, because a file may grow faster than it is read.
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
