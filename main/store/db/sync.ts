import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Syncs the file, and its name in the folder. */
export function syncFile(file: string): void {
  syncPath(file, 'r+');
  syncNames(file);
}

/** Syncs the folder of a file after the file was created or renamed. */
export function syncNames(file: string): void {
  // Windows cannot open a folder to sync it, and does not need to.
  if (process.platform !== 'win32') syncPath(dirname(file), 'r');
}

/** Syncs a folder on the libuv thread pool. */
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
