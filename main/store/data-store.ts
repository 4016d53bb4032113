import { basename, join } from 'node:path';
import type { Outcome } from '../../protocol/problem.ts';
import type { Store } from '../orchestrator/ports.ts';
import { startBackups } from './backup-loop.ts';
import type { KeptBackup } from './backup-plan.ts';
import { openBackupFolder } from './backups.ts';
import { sizeOf } from './file-check.ts';
import { dropReplacement, prepareReplacement, type Replacement } from './replacement.ts';
import { type Restored, restoreIfDamaged } from './restore.ts';
import { openSqliteStore, type StoreParts } from './sqlite-store.ts';
import { createStopMark } from './stop-mark.ts';

export type { KeptBackup } from './backup-plan.ts';
export type { Replacement } from './replacement.ts';

/** Copies of the database, each checked before it has its name. */
export interface Backups {
  /** Where they lie. */
  readonly path: string;
  /** Newest first. */
  list(): readonly KeptBackup[];
  /** Rejects with the reason when it can not be made. */
  make(kind: 'manual' | 'before-restore'): Promise<KeptBackup>;
  /** Whether the newest attempt to make one failed. */
  hasFailed(): boolean;
}

export interface DataStore {
  readonly store: Store;
  readonly backups: Backups;
  /** Null when the database was whole. */
  readonly restored: Restored | null;
  /** Makes a backup ready to take the place of the database, or refuses it; the store goes on meanwhile. */
  prepare(name: string): Promise<Outcome<Replacement>>;
}

/**
 * The store of a data folder that is locked for this process: checked before it is opened, unless an orderly stop has left it as it
 * is, and backed up every hour to `backups/` beside it. Throws with a reason when it can't be used.
 */
export function openDataStore(file: string, parts: Omit<StoreParts, 'beforeMigration'>): DataStore {
  const { clock, log, time } = parts;
  const folder = openBackupFolder(file, clock, time?.earliest);
  const stopMark = createStopMark(file);
  dropReplacement(file);
  const restored = restoreIfDamaged({ ...parts, file, isAsLeft: stopMark.take(), folder });
  const store = openSqliteStore(file, {
    ...parts,
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
        // A copy that was not whole says that something may be wrong with what was copied.
        if (!loop.hasFailed()) stopMark.leave();
      },
    },
    restored,
    prepare: name => {
      const lastEvent = store.eventRange().last;
      return prepareReplacement({ file, folder, store: parts, log, lastEvent }, name);
    },
    backups: {
      path: folder.path,
      list,
      hasFailed: loop.hasFailed,
      async make(kind) {
        const name = basename(await loop.now(kind));
        const made = list().find(backup => backup.name === name);
        if (made === undefined) throw new Error(`the backup ${name} was removed as soon as it was made`);
        return made;
      },
    },
  };
}
