import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Neither a link that took the file's place nor a pipe that nobody writes to. Windows knows neither flag. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** At most `bytes` from `offset`; null when the file can't be read, or is no file any more. */
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
