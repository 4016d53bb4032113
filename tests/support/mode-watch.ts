import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Records the file modes in a folder from the first moment that another user could see the files. */
export interface ModeWatch {
  /** Records the current modes of all files now, too. */
  look(): void;
  /** `path mode` for every mode, past or present, that let other users read, write or enter. */
  open(): readonly string[];
  /** The number of files and folders recorded so far. */
  seen(): number;
  close(): void;
}

/**
 * Watches each folder as it appears. It can miss a file that appears and disappears between two notifications. Tests
 * that write each kind of file under `umask 0` cover that gap; this watch covers all kinds together.
 */
export function watchModes(folder: string, isOurs: (path: string) => boolean): ModeWatch {
  const watchers = new Map<string, FSWatcher>();
  const modes = new Map<string, Set<string>>();
  const note = (path: string): void => {
    if (!isOurs(path)) return;
    try {
      const stats = lstatSync(path);
      // A link has no mode of its own.
      if (stats.isSymbolicLink()) return;
      const own = modes.get(path) ?? new Set();
      modes.set(path, own.add((stats.mode & 0o777).toString(8)));
      if (stats.isDirectory()) follow(path);
    } catch {
      // The file is already gone.
    }
  };
  const inside = (path: string): void => {
    try {
      for (const name of readdirSync(path)) note(join(path, name));
    } catch {
      // The folder is already gone.
    }
  };
  const follow = (path: string): void => {
    if (!watchers.has(path)) {
      const watcher = watch(path, (_what, name) => {
        if (name !== null) note(join(path, name));
      });
      watcher.on('error', () => watcher.close());
      watchers.set(path, watcher);
    }
    inside(path);
  };
  follow(folder);
  return {
    look: () => follow(folder),
    open: () =>
      [...modes].flatMap(([path, own]) =>
        [...own].filter(mode => !/^[0-7]?[0-7]00$/.test(mode)).map(mode => `${path} ${mode}`),
      ),
    seen: () => modes.size,
    close() {
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
