import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from '../clock.ts';

export interface FolderWatchDeps {
  readonly folder: string;
  /** Called at the start, after each change in the folder, and every `everyMs`. Calls never overlap. */
  readonly check: () => Promise<void>;
  /** The poll interval in ms. Polling is necessary because some file systems report changes only sometimes or never. */
  readonly everyMs: number;
  readonly clock: Clock;
}

/** Watches a folder. Returns a function that stops the watch. */
export function watchFolder({ folder, check, everyMs, clock }: FolderWatchDeps): () => void {
  let isStopped = false;
  let isChecking = false;
  let mustRepeat = false;
  let cancelTimer = (): void => {};
  const runCheck = async (): Promise<void> => {
    mustRepeat = isChecking;
    if (isChecking || isStopped) return;
    cancelTimer();
    isChecking = true;
    await check();
    isChecking = false;
    if (mustRepeat) void runCheck();
    else if (!isStopped) cancelTimer = clock.after(everyMs, () => void runCheck());
  };
  const watcher = watcherOf(folder, () => void runCheck());
  void runCheck();
  return () => {
    isStopped = true;
    cancelTimer();
    watcher?.close();
  };
}

/**
 * Returns null when the folder cannot be watched: the system's limit is reached, or the file system does not support
 * it.
 */
function watcherOf(folder: string, onChange: () => void): FSWatcher | null {
  try {
    const watcher = watch(folder, onChange);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}
