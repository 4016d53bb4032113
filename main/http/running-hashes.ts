import { createHash, type Hash } from 'node:crypto';

/** The SHA-256 of files that arrive in several requests, so that nobody reads them again when they are whole. */
export interface RunningHashes {
  /** The hash of the first `at` bytes of this file; null when it is not known. Whoever takes it may add to it. */
  take(file: string, at: number): Hash | null;
  /** The hash of the first `at` bytes, for the request that continues there. */
  keep(file: string, at: number, hash: Hash): void;
}

/** Uploads that wait for their next part. A hash that is forgotten costs one more look at its file. */
const most = 256;

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
      if (known.size > most && oldest !== undefined) known.delete(oldest);
    },
  };
}
