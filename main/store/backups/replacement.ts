import { chmodSync, constants, renameSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { AuditFact, AuditRow, Log, Store } from '../../orchestrator/ports/index.ts';
import type { KeptBackup } from './backup-plan.ts';
import type { BackupFolder } from './backups.ts';
import { findDamageInCopy } from './damage-check.ts';
import { companions, sizeOf } from '../db/file-check.ts';
import { knownSchema } from '../db/migrations.ts';
import { openSqliteStore, type StoreDeps } from '../sqlite-store.ts';
import { syncFile, syncNames } from '../db/sync.ts';
import { copyTrail } from './trail-transfer.ts';
import { openFailure } from '../db/disk-state.ts';
import { skipEventNumbers } from '../rows/history-rows.ts';

type AuditPosition = Pick<AuditRow, 'seq' | 'hash'>;

/** A copy of a backup that can replace the database: beside the database, checked, migrated, and read as at startup. */
export interface Replacement {
  readonly backup: KeptBackup;
  /**
   * Copies the database's audit trail into the copy and appends a row that records the restore. `describe` gets the newest row of
   * the backup's own trail, and returns the row to append. Close the database's store first. Call it before `replaceDatabase`, so
   * that a crash cannot leave a restored database without this row.
   */
  sign(describe: (before: AuditPosition | null) => AuditFact): Promise<void>;
  /** Replaces the database, whose store must be closed. Throws on failure, and then leaves the database in place. */
  replaceDatabase(): void;
  /** Removes the copy. */
  drop(): void;
}

export interface ReplacementDeps {
  readonly file: string;
  readonly folder: BackupFolder;
  readonly store: Omit<StoreDeps, 'onFatal' | 'log' | 'beforeMigration'>;
  /** Gets the errors with paths of this machine, which responses must not contain. */
  readonly log: Log;
  /** Number of the newest event that clients may have seen. */
  readonly lastEvent: number;
}

/** Removes a copy that an interrupted restore left behind; a later start cannot use it. */
export function dropReplacement(file: string): void {
  for (const suffix of companions) rmSync(readyFile(file) + suffix, { force: true });
}

/** Copies the backup `name` and checks the copy. Refuses a missing or unusable backup. Does not change the database. */
export async function prepareReplacement(deps: ReplacementDeps, name: string): Promise<Outcome<Replacement>> {
  const { file, folder, log } = deps;
  const listed = folder.list().find(each => each.name === name);
  if (listed === undefined)
    return refuse('backup_not_found', `There is no backup ${name}: list the backups to see their names`);
  if (folder.hasRestoredTooOften())
    return refuse(
      'too_many_restores',
      'Too many backups were restored within a day, and each keeps the database that it replaced: try again tomorrow, or move ' +
        'backups of the kind before-restore out of the folder',
    );
  const ready = readyFile(file);
  const drop = (): void => dropReplacement(file);
  try {
    drop();
    await copyFile(join(folder.path, name), ready, constants.COPYFILE_FICLONE);
    chmodSync(ready, 0o600);
  } catch (cause) {
    drop();
    log.error('backup.not_copied', { name, cause });
    return refuse(
      'storage',
      `The backup ${name} could not be copied: there must be room for it on the disk of the database, whose folder must be ` +
        'writable. Nothing was changed. The log has more under this request_id',
    );
  }
  const unusable = (why: string) => {
    drop();
    return refuse('backup_unusable', `The backup ${name} cannot be used: ${why}`);
  };
  try {
    const fault = await examine(ready, deps.lastEvent);
    if (fault !== null) return unusable(`${fault}. Nothing was changed`);
    await withStore(deps, readAll);
    const backup = { ...listed, bytes: sizeOf(join(folder.path, name)) ?? 0 };
    return accept({
      backup,
      drop,
      async sign(describe) {
        const fact = describe(await copyTrail(file, ready));
        await withStore(deps, store => store.write(tx => tx.appendAudit(fact)));
      },
      replaceDatabase: () => swap(file),
    });
  } catch (cause) {
    log.error('backup.unusable', { file: join(folder.path, name), cause });
    return unusable('it could not be read. Nothing was changed. The log has more under this request_id');
  }
}

const readyFile = (file: string): string => `${file}.restoring`;

/**
 * Returns why the copy cannot be used, without the path of a file; null when it can be used. Also makes the copy's event numbers
 * continue after `lastEvent`.
 */
async function examine(ready: string, lastEvent: number): Promise<string | null> {
  const damage = await findDamageInCopy(ready, new AbortController().signal).catch(messageOfSqlite);
  if (damage !== null) return `it is damaged (${damage.split('\n').at(-1)})`;
  const db = new Database(ready);
  try {
    const schema = Number(db.pragma('user_version', { simple: true }));
    if (schema === 0) return 'it is not a database of Trainyard';
    if (schema > knownSchema)
      return `a newer version of Trainyard has made it (schema ${schema}; this version knows ${knownSchema})`;
    skipEventNumbers(db, lastEvent);
    // Opening a database in another journal mode would skip event numbers a second time.
    db.pragma('journal_mode = WAL');
    return null;
  } finally {
    db.close();
  }
}

/** Returns SQLite's message. Rethrows any other error. */
function messageOfSqlite(cause: unknown): string {
  if (cause instanceof Database.SqliteError) return cause.message;
  throw cause;
}

/**
 * Reads everything that startup reads. An unreadable backup then fails here, while the old database is still in place.
 */
function readAll(store: Store): void {
  store.workers();
  store.pendingJobs();
  store.waitingJobs();
  store.liveJobs();
  store.apiTokens();
  store.queueSettings();
  store.countJobs();
  store.eventRange();
  store.audit.row(store.audit.lastSeq());
}

/** Runs `act` with the store of the copy. A fault of the copy is reported to the client and must not stop the process. */
async function withStore<T>(
  { file, store: deps }: ReplacementDeps,
  act: (store: Store) => T | Promise<T>,
): Promise<T> {
  const store = openSqliteStore(readyFile(file), { ...deps, log: silent, onFatal: () => undefined });
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Maximum wait for another program to release its lock. */
const waitForLockMs = 1_000;

/**
 * Replaces the database with one rename, so that after a crash the next start finds the old or the new database intact. Merges
 * the old write-ahead log first: a log does not identify its database, so SQLite would apply it to the new one.
 */
function swap(file: string): void {
  const ready = readyFile(file);
  try {
    mergeLog(file);
    if (companions.some(suffix => suffix !== '' && sizeOf(ready + suffix) !== null))
      throw new Error(`${ready} is still in use`);
    syncFile(ready);
    renameSync(ready, file);
    syncNames(file);
  } catch (cause) {
    throw openFailure(cause, file);
  }
}

/** Merges the write-ahead log into the database and removes the log. Throws when another program uses the database. */
function mergeLog(file: string): void {
  const db = new Database(file, { timeout: waitForLockMs });
  try {
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
}
