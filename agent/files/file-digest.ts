import { createHash, type Hash } from 'node:crypto';
import { lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';

const chunkBytes = 1_048_576;

/**
 * Resolves with the SHA-256 of a file, in lower-case hex. Rejects when the file cannot be read, or when the signal
 * fires.
 */
const digestOf = (path: string, signal: AbortSignal): Promise<string> =>
  digestFrom(path, { hash: createHash('sha256'), at: 0 }, signal);

async function digestFrom(
  path: string,
  start: { readonly hash: Hash; readonly at: number },
  signal: AbortSignal,
): Promise<string> {
  const { hash } = start;
  let { at } = start;
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const handle = await open(path, 'r');
  try {
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes, at);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

/** Computes the SHA-256 of a file during its transfer, so that the file need not be read again. */
export interface RunningDigest {
  /** Adds bytes of the file that start at this position. */
  add(at: number, bytes: Uint8Array): void;
  /**
   * Returns the SHA-256 of the whole file, in lower-case hex. Reads only bytes that were not added. Rejects when the file
   * cannot be read, or when the signal fires.
   */
  whole(signal: AbortSignal): Promise<string>;
}

export function createRunningDigest(path: string): RunningDigest {
  let hash = createHash('sha256');
  let at = 0;
  let wholeDigest: string | null = null;
  return {
    add(position, bytes) {
      if (wholeDigest !== null || position > at) return;
      if (position < at) {
        // These bytes may differ from those that were added before, so start again.
        hash = createHash('sha256');
        at = 0;
        if (position > 0) return;
      }
      hash.update(bytes);
      at += bytes.length;
    },
    async whole(signal) {
      wholeDigest ??= await digestFrom(path, { hash: hash.copy(), at }, signal);
      return wholeDigest;
    },
  };
}

export interface Content {
  readonly bytes: number;
  readonly sha256: string;
}

/** Whether `path` below `root` is a file with this content. False when a part of the path is a link. Never rejects. */
export async function hasFile(
  root: string,
  path: string,
  content: Content,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const file = join(root, path);
    const stats = await lstat(file);
    if (!stats.isFile() || stats.size !== content.bytes) return false;
    if ((await realpath(file)) !== join(await realpath(root), path)) return false;
    return (await digestOf(file, signal)) === content.sha256;
  } catch {
    return false;
  }
}
