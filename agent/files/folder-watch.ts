import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from '../clock.ts';

export interface FolderWatchDeps {
  readonly folder: string;
  /** Called immediately, after each change in the folder, and after each `everyMs`. Calls never overlap. */
  readonly check: () => Promise<void>;
  /** The poll interval in ms. It is needed because file systems report some changes, or none. */
  readonly everyMs: number;
  readonly clock: Clock;
}

/** Watches a folder. Returns a function that stops it. */
export function watchFolder({ folder, check, everyMs, clock }: FolderWatchDeps): () => void {
  let isOver = false;
  let isChecking = false;
  let isAgain = false;
  let takeBack = (): void => {};
  const turn = async (): Promise<void> => {
    isAgain = isChecking;
    if (isChecking || isOver) return;
    takeBack();
    isChecking = true;
    await check();
    isChecking = false;
    if (isAgain) void turn();
    else if (!isOver) takeBack = clock.after(everyMs, () => void turn());
  };
  const watcher = watcherOf(folder, () => void turn());
  void turn();
  return () => {
    isOver = true;
    takeBack();
    watcher?.close();
  };
}

/** Null when the folder cannot be watched: the limit of watches is reached, or the file system does not support it. */
function watcherOf(folder: string, onChange: () => void): FSWatcher | null {
  try {
    const watcher = watch(folder, onChange);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}
