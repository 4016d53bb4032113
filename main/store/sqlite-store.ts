import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { AuditSeal, Clock, Log, Store, TrustedTime, Tx } from '../orchestrator/ports.ts';
import { createArtifactRows } from './artifact-rows.ts';
import { createAuditAppend, createAuditTrail } from './audit-rows.ts';
import { movedAway, openFailure } from './disk-fault.ts';
import { createDiskState, type DiskState } from './disk-state.ts';
import { createDatasetRows } from './dataset-rows.ts';
import { createEventRows, passOverEvents } from './event-rows.ts';
import { createWriter } from './group-commit.ts';
import { enterLate } from './job-entry.ts';
import { createJobRows } from './job-rows.ts';
import { createJoinTokenRows } from './join-token-rows.ts';
import { createMetricRows } from './metric-rows.ts';
import { createQueueRows } from './queue-rows.ts';
import { cacheRows } from './row-cache.ts';
import { companions } from './file-check.ts';
import { migrate, schemaOf } from './migrations.ts';
import { createSessionRows } from './session-rows.ts';
import { createTokenRows } from './token-rows.ts';
import { createWorkerRows } from './worker-rows.ts';
import { wrapEach } from './wrap-each.ts';
import { createWriteAheadLog } from './write-ahead-log.ts';

export interface StoreParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly seal: AuditSeal;
  /** By which rows of the audit trail are dated; left out, each has the time that it says itself. */
  readonly time?: TrustedTime;
  /**
   * What the disk holds is unknown (a failed fsync, damage): the process has to end at once, and with it every call that
   * waits for an answer. Called once; nothing is stored or answered afterwards.
   */
  readonly onFatal: (cause: unknown) => void;
  /** Called before an existing database is changed to this schema. */
  readonly beforeMigration?: (db: Database.Database, schema: number) => void;
}

export interface SqliteStore extends Store {
  /** Made by this start. */
  readonly isNew: boolean;
  /**
   * Copies what is committed into an empty file, some pages a turn of the event loop; changes go on meanwhile and are
   * copied too. Rejects when `signal` aborts it.
   */
  copyTo(file: string, signal: AbortSignal): Promise<void>;
}

/** `synchronous` as SQLite numbers it: a commit returns when the disk has it. */
const full = 2;
/** Only a foreign program can hold the lock, as somebody's `sqlite3` does. It holds the event loop up that long. */
const waitForLockMs = 1_000;

/** Opens the database (`:memory:` for none on disk), creating or migrating it. Throws with a reason if that fails. */
export function openSqliteStore(file: string, parts: StoreParts): SqliteStore {
  const { log, clock, seal, onFatal } = parts;
  const { db, isNew } = openDatabase(file, parts);
  const stored = {
    ...createWorkerRows(db),
    ...createJobRows(db),
    ...createQueueRows(db),
    ...createSessionRows(db),
    ...createTokenRows(db),
    ...createJoinTokenRows(db),
    ...createArtifactRows(db),
    ...createMetricRows(db),
    ...createDatasetRows(db),
    ...createEventRows(db),
  };
  const wal = createWriteAheadLog(db);
  const disk = createDiskState({ clock, log, onFatal, probe: wal.probe });
  const writer = createWriter({ db, wal, disk, log, checkPlace: createPlaceCheck(file) });
  const { afterCommit, afterRollback } = writer;
  const entry = enterLate(stored);
  const rows = { ...entry.rows, ...cacheRows(entry.rows, afterRollback) };
  const tx: Tx = {
    ...rows,
    ...createAuditAppend(db, seal, afterRollback, parts.time),
    afterCommit,
    afterRollback,
  };
  return {
    ...watched(rows, disk),
    audit: watched(createAuditTrail(db), disk),
    isNew,
    write: command => writer.write(() => entry.within(() => command(tx))),
    takesChanges: () => disk.now() === 'working',
    onRecovery: disk.onRecovery,
    async copyTo(target, signal) {
      const progress = (): number => {
        signal.throwIfAborted();
        return pagesATurn;
      };
      await db.backup(target, { progress });
    },
    async close() {
      writer.close();
      // Those whose commands have just been committed may look once more before they answer.
      await setImmediate();
      // Closing would write to a disk that must not be written to any more.
      if (disk.now() !== 'dead') db.close();
    },
  };
}

/** What is read again and again: SQLite's own 2 MB are gone through within a few hundred jobs. */
const cacheKib = 32_768;

const pagesATurn = 100;

/** Reading finds damage, too. */
const watched = <R extends object>(rows: R, disk: DiskState): R =>
  wrapEach(rows, read => (...input) => {
    try {
      return read(...input);
    } catch (cause) {
      disk.note(cause);
      throw cause;
    }
  });

function openDatabase(file: string, { beforeMigration }: StoreParts) {
  const opened = guarded(file, () => {
    if (file !== ':memory:') makePrivate(file);
    return new Database(file, { timeout: waitForLockMs });
  });
  return guarded(file, () => {
    try {
      schemaOf(opened);
      if (opened.pragma('journal_mode', { simple: true }) === 'delete') passOverEvents(opened);
      opened.pragma('journal_mode = WAL');
      opened.pragma('foreign_keys = ON');
      opened.pragma(`cache_size = -${cacheKib}`);
      // What a command's savepoint would take back is kept beside the database in a file, unless told.
      opened.pragma('temp_store = MEMORY');
      // Without this word WAL means NORMAL, from the first write on: the pragma reads FULL until then.
      opened.pragma('synchronous = FULL');
      if (process.platform === 'darwin') opened.pragma('fullfsync = 1');
      const was = migrate(opened, beforeMigration);
      const synchronous = opened.pragma('synchronous', { simple: true });
      if (synchronous !== full)
        throw new Error(`SQLite runs with synchronous=${String(synchronous)}, not FULL`);
      return { db: opened, isNew: was === 0 };
    } catch (cause) {
      opened.close();
      throw cause;
    }
  });
}

/** Throws when the file that is open has lost its name, as SQLite looks for it. Windows lets nobody take that away. */
function createPlaceCheck(file: string): () => void {
  if (file === ':memory:' || process.platform === 'win32') return () => {};
  const { ino } = statSync(file);
  return () => {
    if (inodeNow(file, ino) !== ino) throw movedAway(file);
  };
}

/** Null when there is no such file; `unknown` when it can't be looked at, which says nothing of what is open. */
function inodeNow(file: string, unknown: number): number | null {
  try {
    return statSync(file, { throwIfNoEntry: false })?.ino ?? null;
  } catch {
    return unknown;
  }
}

/** Made with its mode before SQLite writes a byte; companions that are made later take it over. */
function makePrivate(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) closeSync(openSync(file, 'wx', 0o600));
  else if (!found.isFile()) throw new Error(`${file} is not a file: move it away, or use another --data-dir`);
  // Somebody has taken away their own right to write: that is not undone behind their back.
  else if ((found.mode & 0o200) === 0)
    throw new Error(`${file} is read-only: "chmod 600" it, or use another --data-dir`);
  for (const name of companions.map(suffix => file + suffix)) {
    if (existsSync(name)) chmodSync(name, 0o600);
  }
}

function guarded<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    throw openFailure(cause, file);
  }
}
