import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { AuditSeal, Clock, Log, Store, TrustedTime, Tx } from '../orchestrator/ports/index.ts';
import { createArtifactRows } from './rows/artifact-rows.ts';
import {
  createAuditAppend,
  createAuditTrail,
  createEventRows,
  skipEventNumbers,
} from './rows/history-rows.ts';
import { createDiskState, type DiskState, movedAway, openFailure } from './db/disk-state.ts';
import { createDatasetRows } from './rows/dataset-rows.ts';
import { copyDatabase } from './db/copy-database.ts';
import { createWriter } from './db/group-commit.ts';
import { createDependencyRows } from './rows/dependency-rows.ts';
import { createJobRows } from './rows/job-rows.ts';
import { createMetricRows } from './rows/metric-rows.ts';
import { createNodeRows } from './rows/node-rows.ts';
import { createNotificationRows } from './rows/notification-rows.ts';
import { createTemplateRows } from './rows/template-rows.ts';
import { createTimelineRows } from './rows/timeline-rows.ts';
import { createUsageRows } from './rows/usage-rows.ts';
import { createPoolRows } from './rows/pool-rows.ts';
import { createQueueRows } from './rows/queue-rows.ts';
import { cacheRows } from './rows/row-cache.ts';
import { companions } from './db/file-check.ts';
import { migrate, schemaOf } from './db/migrations.ts';
import { createTokenRows, createSessionRows } from './rows/access-rows.ts';
import { createWorkerRows, createJoinTokenRows } from './rows/worker-rows.ts';
import { createWriteAheadLog } from './db/write-ahead-log.ts';

type Call = (...input: unknown[]) => unknown;

/** Returns a copy of an object of functions, with each function wrapped. */
const wrapEach = <R extends object>(calls: R, wrap: (call: Call) => Call): R =>
  Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, wrap(call as Call)])) as unknown as R;

export interface StoreDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly seal: AuditSeal;
  /** Sets the time of audit rows. Without this clock, each row keeps the time that the caller passed. */
  readonly time?: TrustedTime;
  /**
   * Called once when the state on disk is unknown (failed fsync, damage). The process must exit immediately. Pending writes never
   * settle, and nothing is stored afterwards.
   */
  readonly onFatal: (cause: unknown) => void;
  /** Called with the new schema version before an existing database is migrated. */
  readonly beforeMigration?: (db: Database.Database, schema: number) => void;
  /** Initial content of a new database file. Without it, a new file runs all migrations. */
  readonly emptyDatabase?: Uint8Array;
}

export interface SqliteStore extends Store {
  /** Whether this start created the database. */
  readonly isNew: boolean;
  /**
   * Copies all changes that have been committed so far to an empty file, without blocking the event loop. The copy may contain
   * later changes. Rejects when `signal` aborts it.
   */
  copyTo(file: string, signal: AbortSignal): Promise<void>;
}

/** SQLite's number for `synchronous = FULL`: a commit returns once it is on disk. */
const synchronousFull = 2;
/** Maximum wait for the database lock, which blocks the event loop. Only another program can hold the lock, such as `sqlite3`. */
const waitForLockMs = 1_000;

/** The path of a file, `:memory:` for an empty in-memory database, or the content of an in-memory database. */
type DatabaseLocation = string | Buffer;

const isInMemory = (database: DatabaseLocation): database is ':memory:' | Buffer =>
  database === ':memory:' || Buffer.isBuffer(database);

/** Opens, creates or migrates the database. Throws with a reason on failure. */
export function openSqliteStore(database: DatabaseLocation, deps: StoreDeps): SqliteStore {
  const { log, clock, seal, onFatal } = deps;
  const { db, isNew } = openDatabase(database, deps);
  const stored = {
    ...createWorkerRows(db),
    ...createJobRows(db),
    ...createDependencyRows(db),
    ...createQueueRows(db),
    ...createSessionRows(db),
    ...createTokenRows(db),
    ...createJoinTokenRows(db),
    ...createArtifactRows(db),
    ...createMetricRows(db),
    ...createDatasetRows(db),
    ...createPoolRows(db),
    ...createNotificationRows(db),
    ...createTemplateRows(db),
    ...createTimelineRows(db),
    ...createUsageRows(db),
    ...createEventRows(db),
  };
  const wal = createWriteAheadLog(db);
  const disk = createDiskState({ clock, log, onFatal, probe: wal.probe });
  const writer = createWriter({ db, wal, disk, log, checkFile: createFileCheck(database) });
  const { afterCommit, afterRollback } = writer;
  const rows = { ...stored, ...createNodeRows(db, afterRollback), ...cacheRows(stored, afterRollback) };
  const tx: Tx = {
    ...rows,
    ...createAuditAppend(db, seal, afterRollback, deps.time),
    afterCommit,
    afterRollback,
  };
  return {
    ...watched(rows, disk),
    audit: watched(createAuditTrail(db), disk),
    isNew,
    write: command => writer.write(() => command(tx)),
    acceptsWrites: () => disk.now() === 'working',
    onRecovery: disk.onRecovery,
    copyTo: (target, signal) => copyDatabase(db, target, signal),
    async close() {
      writer.close();
      // Callers of commands that were just committed may read once more before they respond.
      await setImmediate();
      // Closing writes to the disk, which is forbidden after a fatal fault.
      if (disk.now() !== 'dead') db.close();
    },
  };
}

/** Size of SQLite's cache. With a few hundred jobs, the frequently used rows exceed the default of 2 MB. */
const cacheKib = 32_768;

/** Wraps each read so that it reports disk faults to `disk`. */
const watched = <R extends object>(rows: R, disk: DiskState): R =>
  wrapEach(rows, read => (...input) => {
    try {
      return read(...input);
    } catch (cause) {
      disk.note(cause);
      throw cause;
    }
  });

function openDatabase(database: DatabaseLocation, { beforeMigration, emptyDatabase }: StoreDeps) {
  const name = isInMemory(database) ? ':memory:' : database;
  const { isCreated, opened } = guarded(name, () => {
    const created = !isInMemory(database) && makePrivate(database, emptyDatabase);
    return { isCreated: created, opened: new Database(database, { timeout: waitForLockMs }) };
  });
  return guarded(name, () => {
    try {
      schemaOf(opened);
      if (opened.pragma('journal_mode', { simple: true }) === 'delete') skipEventNumbers(opened);
      opened.pragma('journal_mode = WAL');
      opened.pragma('foreign_keys = ON');
      opened.pragma(`cache_size = -${cacheKib}`);
      // By default, SQLite stores savepoint data in a file beside the database.
      opened.pragma('temp_store = MEMORY');
      // Required: in WAL mode, the default becomes NORMAL with the first write, although the pragma reads FULL until then.
      opened.pragma('synchronous = FULL');
      if (process.platform === 'darwin') opened.pragma('fullfsync = 1');
      const schemaBefore = migrate(opened, beforeMigration);
      const synchronous = opened.pragma('synchronous', { simple: true });
      if (synchronous !== synchronousFull)
        throw new Error(`SQLite runs with synchronous=${String(synchronous)}, not FULL`);
      return { db: opened, isNew: isCreated || schemaBefore === 0 };
    } catch (cause) {
      opened.close();
      throw cause;
    }
  });
}

/** Returns a check that throws when the open file was removed or replaced. Windows does not allow this. */
function createFileCheck(database: DatabaseLocation): () => void {
  if (isInMemory(database) || process.platform === 'win32') return () => {};
  const { ino } = statSync(database);
  return () => {
    if (inodeNow(database, ino) !== ino) throw movedAway(database);
  };
}

/**
 * Returns the inode at a path; null when no file exists there. Returns `fallback` when the path cannot be read, because that does
 * not mean that the open file was replaced.
 */
function inodeNow(file: string, fallback: number): number | null {
  try {
    return statSync(file, { throwIfNoEntry: false })?.ino ?? null;
  } catch {
    return fallback;
  }
}

/**
 * Creates the file if needed, and lets only its owner access it and its companion files. Returns whether the file is new. Runs
 * before SQLite opens the file, because new companion files inherit its mode. Throws when the file is read-only.
 */
function makePrivate(file: string, content: Uint8Array = new Uint8Array()): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
  else if (!stats.isFile()) throw new Error(`${file} is not a file: move it away, or use another --data-dir`);
  // The owner made the file read-only on purpose, so the server does not undo that.
  else if ((stats.mode & 0o200) === 0)
    throw new Error(`${file} is read-only: "chmod 600" it, or use another --data-dir`);
  for (const name of companions.map(suffix => file + suffix)) {
    if (existsSync(name)) chmodSync(name, 0o600);
  }
  return stats === undefined;
}

function guarded<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    throw openFailure(cause, file);
  }
}
