import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A file that is still being written has this ending; one left behind by a killed process is never read. */
const UNFINISHED = '.partial';

/**
 * Writes a file whole or not at all: a reader of `path` sees the old content or the new, whatever happens when, a power
 * cut included. Write beside it, fsync, rename, fsync the folder (without which the rename itself may be lost).
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
