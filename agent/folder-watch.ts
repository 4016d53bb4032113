import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from './clock.ts';

export interface FolderWatchParts {
  readonly folder: string;
  /** Called at once, when something has changed in the folder, and now and then; never twice at a time. */
  readonly look: () => Promise<void>;
  /** Not every file system tells of changes, and none of all: so it is looked at this often anyway. */
  readonly everyMs: number;
  readonly clock: Clock;
}

/** Looks into a folder until the answer is called. */
export function watchFolder({ folder, look, everyMs, clock }: FolderWatchParts): () => void {
  let isOver = false;
  let isLooking = false;
  let isAgain = false;
  let takeBack = (): void => {};
  const turn = async (): Promise<void> => {
    isAgain = isLooking;
    if (isLooking || isOver) return;
    takeBack();
    isLooking = true;
    await look();
    isLooking = false;
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

/** Null where watching is not to be had: the limit of watches is reached, the file system knows none. */
function watcherOf(folder: string, onChange: () => void): FSWatcher | null {
  try {
    const watcher = watch(folder, onChange);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}
