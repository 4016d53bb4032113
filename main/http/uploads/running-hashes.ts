import { createHash, type Hash } from 'node:crypto';

/**
 * Stores the SHA-256 state of files that arrive in several requests. The server then need not read a complete file again to hash
 * it.
 */
export interface RunningHashes {
  /**
   * Removes and returns the hash of the first `at` bytes of this file; null if it is not stored. The caller can update the hash.
   */
  take(file: string, at: number): Hash | null;
  /** Stores the hash of the first `at` bytes for the request that continues at this offset. */
  keep(file: string, at: number, hash: Hash): void;
}

/** Maximum number of stored hashes. For a hash that was dropped, the file is read once more. */
const maxHashes = 256;

export function createRunningHashes(): RunningHashes {
  const hashes = new Map<string, { readonly at: number; readonly hash: Hash }>();
  return {
    take(file, at) {
      const entry = hashes.get(file);
      hashes.delete(file);
      if (at === 0) return createHash('sha256');
      return entry?.at === at ? entry.hash : null;
    },
    keep(file, at, hash) {
      hashes.set(file, { at, hash });
      const [oldest] = hashes.keys();
      if (hashes.size > maxHashes && oldest !== undefined) hashes.delete(oldest);
    },
  };
}
