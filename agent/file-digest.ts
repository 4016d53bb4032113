import { createHash } from 'node:crypto';
import { lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';

const portion = 1_048_576;

/** The SHA-256 of a file in lower-case hex, read in portions; rejects when it can't be read, or the signal fires. */
export async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(portion);
  const handle = await open(path, 'r');
  try {
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, portion);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

export interface Content {
  readonly bytes: number;
  readonly sha256: string;
}

/** Whether this file is there, below the folder and through no link, and is the one with this content. */
export async function holdsFile(
  root: string,
  path: string,
  content: Content,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const file = join(root, path);
    const found = await lstat(file);
    if (!found.isFile() || found.size !== content.bytes) return false;
    if ((await realpath(file)) !== join(await realpath(root), path)) return false;
    return (await digestOf(file, signal)) === content.sha256;
  } catch {
    return false;
  }
}
