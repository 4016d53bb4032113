import type { Store } from '../orchestrator/ports.ts';
import { startBackups } from './backup-loop.ts';
import { openBackupFolder } from './backups.ts';
import { type Restored, restoreIfDamaged } from './restore.ts';
import { openSqliteStore, type StoreParts } from './sqlite-store.ts';

export interface DataStore {
  readonly store: Store;
  /** Null when the database was whole. */
  readonly restored: Restored | null;
}

/**
 * The store of a data folder that is locked for this process: checked before it is opened, and backed up every hour to
 * `backups/` beside it. Throws with a reason when it can't be used.
 */
export function openDataStore(file: string, parts: Omit<StoreParts, 'beforeMigration'>): DataStore {
  const { clock, log } = parts;
  const folder = openBackupFolder(file, clock);
  const restored = restoreIfDamaged({ file, folder, clock, log });
  const store = openSqliteStore(file, {
    ...parts,
    beforeMigration: (db, schema) => folder.addNow(`before-schema-${schema}`, db),
  });
  const backups = startBackups({ store, folder, clock, log });
  return {
    store: {
      ...store,
      async close() {
        await backups.stop();
        await store.close();
      },
    },
    restored,
  };
}
