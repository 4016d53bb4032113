import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Refuses a link that replaced the file, and does not wait for a pipe without a writer. Windows has neither flag. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads at most `bytes` from `offset`; null if the file can't be read, or is not a file any more. */
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
