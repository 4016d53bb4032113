import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Returns true when an octal mode gives the group and others no access. */
const isPrivate = (mode: string): boolean => /^[0-7]?[0-7]00$/.test(mode);

/** Records the modes of files and folders as soon as they appear. */
export interface ModeWatch {
  /** Records the current modes of all files, without waiting for a notification. */
  recordNow(): void;
  /** Returns a line `path mode` for each past or present mode that gives other users access. */
  open(): readonly string[];
  /** The number of files and folders recorded so far. */
  recordedCount(): number;
  close(): void;
}

/**
 * Watches a folder and all folders below it, including new ones. `isOurs`: returns true for the paths to record. The watch can
 * miss a file that exists only between two notifications. Other tests cover such files: they write each kind of file under
 * `umask 0`.
 */
export function watchModes(folder: string, isOurs: (path: string) => boolean): ModeWatch {
  const watchers = new Map<string, FSWatcher>();
  const modes = new Map<string, Set<string>>();
  const recordMode = (path: string): void => {
    if (!isOurs(path)) return;
    try {
      const stats = lstatSync(path);
      // Linux does not use the mode of a symbolic link.
      if (stats.isSymbolicLink()) return;
      const pathModes = modes.get(path) ?? new Set();
      modes.set(path, pathModes.add((stats.mode & 0o777).toString(8)));
      if (stats.isDirectory()) follow(path);
    } catch {
      // The file was already removed.
    }
  };
  const recordEntries = (path: string): void => {
    try {
      for (const name of readdirSync(path)) recordMode(join(path, name));
    } catch {
      // The folder was already removed.
    }
  };
  const follow = (path: string): void => {
    if (!watchers.has(path)) {
      const watcher = watch(path, (_what, name) => {
        if (name !== null) recordMode(join(path, name));
      });
      watcher.on('error', () => watcher.close());
      watchers.set(path, watcher);
    }
    recordEntries(path);
  };
  follow(folder);
  return {
    recordNow: () => follow(folder),
    open: () =>
      [...modes].flatMap(([path, pathModes]) =>
        [...pathModes].filter(mode => !isPrivate(mode)).map(mode => `${path} ${mode}`),
      ),
    recordedCount: () => modes.size,
    close() {
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
