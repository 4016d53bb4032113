import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Extension of a file that is still being written. Files with this extension are never read. */
const UNFINISHED = '.partial';

/**
 * Writes a file atomically: a reader of `path` sees the old or the new content, even after a power failure. Writes a temporary
 * file, syncs it, and renames it. Then syncs the folder, because otherwise the rename could be lost.
 */
export async function writeWhole(path: string, pieces: Iterable<Uint8Array>): Promise<void> {
  const unfinished = path + UNFINISHED;
  try {
    await withFile(unfinished, 'w', async file => {
      for (const piece of pieces) await file.writeFile(piece);
      await file.sync();
    });
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await withFile(dirname(path), 'r', folder => folder.sync());
}

async function withFile(
  path: string,
  flags: string,
  use: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, flags);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}
