import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Has the disk take what was written to the file, and its name in the folder. */
export function syncFile(file: string): void {
  syncPath(file, 'r+');
  syncNames(file);
}

/** Has the disk take that a file beside it, or itself, was made or renamed. */
export function syncNames(file: string): void {
  // Windows opens no folders, and keeps names in order by itself.
  if (process.platform !== 'win32') syncPath(dirname(file), 'r');
}

/** The same for the names in a folder, by the threads of libuv. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function syncPath(path: string, flags: string): void {
  const handle = openSync(path, flags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
