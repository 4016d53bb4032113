import { createHash, type Hash } from 'node:crypto';

/** Keeps the SHA-256 of files that arrive in several requests, so that the server need not read them again at their end. */
export interface RunningHashes {
  /** Removes and returns the hash of the first `at` bytes of this file; null if it is not known. The caller may add to it. */
  take(file: string, at: number): Hash | null;
  /** Keeps the hash of the first `at` bytes for the request that continues there. */
  keep(file: string, at: number, hash: Hash): void;
}

/** How many uploads between two parts are remembered. A forgotten hash costs one more read of its file. */
const maxHashes = 256;

export function createRunningHashes(): RunningHashes {
  const known = new Map<string, { readonly at: number; readonly hash: Hash }>();
  return {
    take(file, at) {
      const found = known.get(file);
      known.delete(file);
      if (at === 0) return createHash('sha256');
      return found?.at === at ? found.hash : null;
    },
    keep(file, at, hash) {
      known.set(file, { at, hash });
      const [oldest] = known.keys();
      if (known.size > maxHashes && oldest !== undefined) known.delete(oldest);
    },
  };
}
