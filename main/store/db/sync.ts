import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';

/** Syncs the file and its folder. */
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

/** Time in ms between two syncs of a file that grows. */
const everyMs = 200;

/**
 * Syncs a file repeatedly in another thread while `act` writes it. This shortens SQLite's own sync at the end, which blocks the
 * event loop.
 */
export async function syncedWhile<T>(file: string, act: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const handle = await open(file, 'r+');
  const syncing = (async () => {
    while (!over.signal.aborted) {
      await later(everyMs, null, { signal: over.signal }).catch(() => undefined);
      // The caller syncs the file once more, and reports a failure.
      if (!over.signal.aborted) await handle.datasync().catch(() => undefined);
    }
  })();
  try {
    return await act();
  } finally {
    over.abort();
    await syncing;
    await handle.close();
  }
}
