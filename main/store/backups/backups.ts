import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import type { Clock } from '../../orchestrator/ports/index.ts';
import {
  type Backup,
  type BackupKind,
  backupName,
  hasRestoredTooOften,
  parseBackupName,
  planRetention,
} from './backup-plan.ts';
import { quickCheck, sizeOf } from '../db/file-check.ts';
import { findDamageInCopy } from './damage-check.ts';
import { syncedWhile, syncFile, syncNames } from '../db/sync.ts';

export interface BackupFolder {
  readonly path: string;
  /** Lists the backups, newest first. */
  list(): readonly Backup[];
  /** Whether another restore must wait until an earlier one is more than a day old. */
  hasRestoredTooOften(): boolean;
  /** Copies and checks the database synchronously and drops old backups. Throws on failure. */
  addNow(kind: BackupKind, db: Database.Database): void;
  /**
   * Like `addNow`, but copies and checks the database without blocking the event loop. Resolves with the path of the backup.
   * Rejects on failure or abort.
   */
  add(kind: BackupKind, copyTo: (file: string) => Promise<void>, signal: AbortSignal): Promise<string>;
}

/**
 * Opens the folder `backups` beside the database. Each backup is a complete database in one file, accessible only to its owner. A
 * backup gets its final name after its check. Names contain the wall-clock time, but ages are relative to `now`.
 */
export function openBackupFolder(
  databaseFile: string,
  clock: Clock,
  now: Clock['wall'] = clock.wall,
): BackupFolder {
  const path = join(dirname(databaseFile), 'backups');
  const unfinished = join(path, 'unfinished');

  const list = (): readonly Backup[] =>
    (existsSync(path) ? readdirSync(path) : [])
      .map(parseBackupName)
      .filter(backup => backup !== null)
      .toSorted((a, b) => b.number - a.number);

  const begin = (): void => {
    if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(path, 0o700);
    dropUnfinished();
    refuseWithoutRoom(path, databaseFile);
    closeSync(openSync(unfinished, 'wx', 0o600));
  };

  const finish = (kind: BackupKind): string => {
    syncFile(unfinished);
    const lastNumber = list()[0]?.number ?? 0;
    const file = join(path, backupName(kind, lastNumber + 1, clock.wall()));
    renameSync(unfinished, file);
    syncNames(file);
    return file;
  };

  const dropOld = (): void => {
    for (const { name } of planRetention(list(), now())) rmSync(join(path, name));
  };

  const dropUnfinished = (): void => {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(unfinished + suffix, { force: true });
  };

  return {
    path,
    list,
    hasRestoredTooOften: () => hasRestoredTooOften(list(), now()),
    addNow(kind, db) {
      begin();
      try {
        db.prepare('VACUUM INTO ?').run(unfinished);
        refuseDamaged(quickCheck(unfinished));
        finish(kind);
        dropOld();
      } finally {
        dropUnfinished();
      }
    },
    async add(kind, copyTo, signal) {
      begin();
      try {
        await syncedWhile(unfinished, () => copyTo(unfinished));
        refuseDamaged(await findDamageInCopy(unfinished, signal));
        const file = finish(kind);
        dropOld();
        return file;
      } finally {
        dropUnfinished();
      }
    },
  };
}

/** Throws unless the free space is twice the size of the database, so that a backup cannot fill the disk. */
function refuseWithoutRoom(path: string, databaseFile: string): void {
  const { bavail, bsize } = statfsSync(path);
  const needed = 2 * ((sizeOf(databaseFile) ?? 0) + (sizeOf(`${databaseFile}-wal`) ?? 0));
  if (bavail * bsize < needed)
    throw new Error(
      `a backup needs ${Math.ceil(needed / 1_048_576)} MiB of free space on the disk of ${path}`,
    );
}

function refuseDamaged(damage: string | null): void {
  if (damage === null) return;
  throw new Error(
    `the copy is damaged, so the database may be damaged too: the next start checks it (${damage})`,
  );
}
