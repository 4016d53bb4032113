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

/** Copies of the database; each gets its name after a successful check. */
export interface Backups {
  /** Path of the folder. */
  readonly path: string;
  /** Newest first. */
  list(): readonly KeptBackup[];
  /** Rejects with the reason when the backup fails. */
  make(kind: 'manual' | 'before-restore'): Promise<KeptBackup>;
  /** Whether the last attempt to make a backup failed. */
  hasFailed(): boolean;
}

export interface DataStore {
  readonly store: Store;
  readonly backups: Backups;
  /** Null when the database was intact. */
  readonly restored: Restored | null;
  /** Prepares a backup to replace the database, or refuses it. The store stays in use meanwhile. */
  prepare(name: string): Promise<Outcome<Replacement>>;
}

/**
 * Opens the store of a data folder that this process has locked. Checks the database first, unless an orderly stop left it
 * unchanged. Backs it up every hour to `backups/` beside it. Throws with a reason when it cannot be used.
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
        // A damaged copy suggests a damaged database, so the next start must check it.
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
