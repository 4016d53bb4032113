import type { FilePoint } from './names.ts';
import type { MetricsFile } from './find-files.ts';
import { createNewerFilter } from './newer.ts';
import { readPart } from './read-part.ts';
import { type Entry, parseHistory, pointsOfHistory } from './trainer-state.ts';

const maxBytes = 16 * 1024 * 1024;

/** Reads the newest `trainer_state.json` files. Each checkpoint has one, with everything that was logged before it. */
export interface StateFiles {
  /** Skips what the file has now: it was logged before this attempt. */
  skip(file: MetricsFile): Promise<void>;
  read(file: MetricsFile): Promise<readonly FilePoint[]>;
}

export function createStateFiles(): StateFiles {
  const newer = createNewerFilter();
  const before = new Set<Entry>();
  /** Which version of each file was read. A half-written file is read again once it has changed. */
  const seen = new Map<string, string>();

  const entriesOf = async ({ path, bytes, changedAt }: MetricsFile): Promise<readonly Entry[]> => {
    const version = `${bytes} ${changedAt}`;
    if (seen.get(path) === version || bytes > maxBytes) return [];
    seen.set(path, version);
    const part = await readPart(path, 0, maxBytes);
    return part === null ? [] : (parseHistory(new TextDecoder().decode(part)) ?? []);
  };

  return {
    async skip(file) {
      for (const entry of await entriesOf(file)) before.add(entry);
    },
    async read(file) {
      const entries = await entriesOf(file);
      return newer(pointsOfHistory(entries.filter(entry => !before.has(entry))), true);
    },
  };
}
