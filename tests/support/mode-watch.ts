import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/** The modes that the files of a folder have, from the first moment that somebody else could look at them. */
export interface ModeWatch {
  /** Everything in it is looked at now, too. */
  look(): void;
  /** `path mode`, of all that others than the owner could read, write or enter at some time. */
  open(): readonly string[];
  /** How many files and folders were seen. */
  seen(): number;
  close(): void;
}

/**
 * Folders are watched as they come. What comes and goes between two notices may be missed: the tests that write a file
 * under `umask 0` themselves are the proof for each kind, and this one for all of them together.
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
      // It is gone already.
    }
  };
  const inside = (path: string): void => {
    try {
      for (const name of readdirSync(path)) note(join(path, name));
    } catch {
      // It is gone already.
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
