import { join } from 'node:path';
import type { UpdateId } from '../../protocol/worker-update.ts';
import { readFields, writeWhole } from '../files/whole-file.ts';

/** Counts how often an update was started, including starts by earlier processes of this worker. */
export interface TryBook {
  /** Counts another start of the update, and returns the number of its starts. */
  begin(id: UpdateId): number;
}

/** The file `update` in a state folder. */
export function openTryBook(stateDir: string): TryBook {
  const file = join(stateDir, 'update');
  return {
    begin(id) {
      const stored = readFields(file);
      const earlierTries = stored?.['id'] === id && typeof stored['tries'] === 'number' ? stored['tries'] : 0;
      writeWhole(file, JSON.stringify({ id, tries: earlierTries + 1 }));
      return earlierTries + 1;
    },
  };
}
