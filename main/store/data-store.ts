import { basename, join } from 'node:path';
import type { Outcome } from '../../protocol/problem.ts';
import type { Store } from '../orchestrator/ports/index.ts';
import { startBackups } from './backups/backup-loop.ts';
import type { KeptBackup } from './backups/backup-plan.ts';
import { openBackupFolder } from './backups/backups.ts';
import { sizeOf, createStopMark } from './db/file-check.ts';
import { dropReplacement, prepareReplacement, type Replacement } from './backups/replacement.ts';
import { type Restored, restoreIfDamaged } from './backups/restore.ts';
import { openSqliteStore, type StoreDeps } from './sqlite-store.ts';
export type { KeptBackup } from './backups/backup-plan.ts';
export type { Replacement } from './backups/replacement.ts';

/** Backups of the database. Each gets its final name after a successful check. */
export interface Backups {
  /** Path of the folder. */
  readonly path: string;
  /** Lists the backups, newest first. */
  list(): readonly KeptBackup[];
  /** Makes a backup. Rejects with the reason on failure. */
  make(kind: 'manual' | 'before-restore'): Promise<KeptBackup>;
  /** Whether the last attempt to make a backup failed. */
  hasFailed(): boolean;
}

export interface DataStore {
  readonly store: Store;
  readonly backups: Backups;
  /** The backup that replaced a damaged database; null when the database was intact. */
  readonly restored: Restored | null;
  /** Prepares a backup to replace the database, or refuses the backup. The store stays usable during the preparation. */
  prepare(name: string): Promise<Outcome<Replacement>>;
}

/**
 * Opens the store of a data folder that this process has locked. First checks the database for damage, and restores a backup if
 * needed. Backs up the database every hour to `backups/` in the same folder. Throws with a reason when the database cannot be
 * used.
 */
export function openDataStore(file: string, deps: Omit<StoreDeps, 'beforeMigration'>): DataStore {
  const { clock, log, time } = deps;
  const folder = openBackupFolder(file, clock, time?.earliest);
  const stopMark = createStopMark(file);
  dropReplacement(file);
  const restored = restoreIfDamaged({ ...deps, file, isUnchanged: stopMark.take(), folder });
  const store = openSqliteStore(file, {
    ...deps,
    beforeMigration: (db, schema) => folder.addNow(`before-schema-${schema}`, db),
  });
  const loop = startBackups({ store, folder, clock, log });
  const list = () =>
    folder.list().map(backup => ({ ...backup, bytes: sizeOf(join(folder.path, backup.name)) ?? 0 }));
  return {
    store: {
      ...store,
      async close() {
        await loop.stop();
        await store.close();
        // A failed backup can mean that the database is damaged, so the next start must check the database.
        if (!loop.hasFailed()) stopMark.leave();
      },
    },
    restored,
    prepare: name => {
      const lastEvent = store.eventRange().last;
      return prepareReplacement({ file, folder, store: deps, log, lastEvent }, name);
    },
    backups: {
      path: folder.path,
      list,
      hasFailed: loop.hasFailed,
      async make(kind) {
        const name = basename(await loop.now(kind));
        const backup = list().find(each => each.name === name);
        if (backup === undefined) throw new Error(`the backup ${name} was removed as soon as it was made`);
        return backup;
      },
    },
  };
}
