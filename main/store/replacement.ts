import { chmodSync, constants, renameSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { AuditFact, AuditRow, Log, Store } from '../orchestrator/ports.ts';
import type { KeptBackup } from './backup-plan.ts';
import { type BackupFolder, findDamageInSlices } from './backups.ts';
import { openFailure } from './disk-fault.ts';
import { passOverEvents } from './event-rows.ts';
import { companions, sizeOf } from './file-check.ts';
import { knownSchema } from './migrations.ts';
import { openSqliteStore, type StoreParts } from './sqlite-store.ts';
import { syncFile, syncNames } from './sync.ts';
import { carryTrail } from './trail-transfer.ts';

type AuditPosition = Pick<AuditRow, 'seq' | 'hash'>;

/** A copy of a backup that lies ready beside the database: checked, of this schema, and read as a start reads it. */
export interface Replacement {
  readonly backup: KeptBackup;
  /**
   * Gives it the trail of the database, whose store must be closed, and appends the row that tells of the restore; `describe` is
   * given the newest row that the backup itself had. Both before anybody sees the copy: no crash can come in between.
   */
  sign(describe: (had: AuditPosition | null) => AuditFact): Promise<void>;
  /** Takes the place of the database, whose store must be closed. Throws, with nothing changed, when it can not. */
  takePlace(): void;
  drop(): void;
}

export interface ReplacementParts {
  readonly file: string;
  readonly folder: BackupFolder;
  readonly store: Omit<StoreParts, 'onFatal' | 'log' | 'beforeMigration'>;
  /** Whoever asked is told no path of this machine; the log is. */
  readonly log: Log;
  /** The number of the newest event that readers may know of. */
  readonly lastEvent: number;
}

/** For one that was cut off: what a start finds of it is of no use any more. */
export function dropReplacement(file: string): void {
  for (const suffix of companions) rmSync(readyFile(file) + suffix, { force: true });
}

/** Refuses, with nothing changed, a backup that is not there, or can not be worked with. */
export async function prepareReplacement(
  parts: ReplacementParts,
  name: string,
): Promise<Outcome<Replacement>> {
  const { file, folder, log } = parts;
  const found = folder.list().find(each => each.name === name);
  if (found === undefined)
    return refuse('backup_not_found', `There is no backup ${name}: look at the list of them`);
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
    const fault = await examine(ready, parts.lastEvent);
    if (fault !== null) return unusable(`${fault}. Nothing was changed`);
    await withStore(parts, readAll);
    const backup = { ...found, bytes: sizeOf(join(folder.path, name)) ?? 0 };
    return accept({
      backup,
      drop,
      async sign(describe) {
        const fact = describe(await carryTrail(file, ready));
        await withStore(parts, store => store.write(tx => tx.appendAudit(fact)));
      },
      takePlace: () => swap(file),
    });
  } catch (cause) {
    log.error('backup.unusable', { file: join(folder.path, name), cause });
    return unusable(
      'it could not be read as a start reads it. Nothing was changed. The log has more under this request_id',
    );
  }
}

const readyFile = (file: string): string => `${file}.restoring`;

/** As it lies there: why it is not one of ours, or not whole, in words that name no file; null when nothing is the matter. */
async function examine(ready: string, lastEvent: number): Promise<string | null> {
  const damage = await findDamageInSlices(ready, new AbortController().signal).catch(wordsOfSqlite);
  if (damage !== null) return `it is damaged (${damage.split('\n').at(-1)})`;
  const db = new Database(ready);
  try {
    const schema = Number(db.pragma('user_version', { simple: true }));
    if (schema === 0) return 'it is no database of Trainyard';
    if (schema > knownSchema)
      return `a newer version of Trainyard has made it (schema ${schema}; this version knows ${knownSchema})`;
    passOverEvents(db, lastEvent);
    // Or the store would take it for one whose events have not been passed over yet.
    db.pragma('journal_mode = WAL');
    return null;
  } finally {
    db.close();
  }
}

/** Throws whatever else it is. */
function wordsOfSqlite(cause: unknown): string {
  if (cause instanceof Database.SqliteError) return cause.message;
  throw cause;
}

/** What a start reads at once: what is not as it was written shows here, and not when there is no way back. */
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

/** What fails here says so to whoever asked, and is no fault of the database that is in use. */
async function withStore<T>(
  { file, store: parts }: ReplacementParts,
  act: (store: Store) => T | Promise<T>,
): Promise<T> {
  const store = openSqliteStore(readyFile(file), { ...parts, log: silent, onFatal: () => undefined });
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** As long as another program may take to let go. */
const waitForLockMs = 1_000;

/**
 * One rename: whenever this is cut off, the next start finds the old database or the new one, whole. The log of the old
 * one must be gone before, because nothing in it says of which file its pages are.
 */
function swap(file: string): void {
  const ready = readyFile(file);
  try {
    foldLog(file);
    if (companions.some(suffix => suffix !== '' && sizeOf(ready + suffix) !== null))
      throw new Error(`${ready} is still in use`);
    syncFile(ready);
    renameSync(ready, file);
    syncNames(file);
  } catch (cause) {
    throw openFailure(cause, file);
  }
}

/** Only who has it alone can: it throws when another program works on it. */
function foldLog(file: string): void {
  const db = new Database(file, { timeout: waitForLockMs });
  try {
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
}
