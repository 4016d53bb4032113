import { chmodSync, closeSync, openSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { AuditSeal, Log, Store, Tx } from '../orchestrator/ports.ts';
import { createAuditAppend, createAuditTrail } from './audit-rows.ts';
import { createEventRows } from './event-rows.ts';
import { createWriter } from './group-commit.ts';
import { createJobRows } from './job-rows.ts';
import { migrate } from './migrations.ts';
import { createWorkerRows } from './worker-rows.ts';

/** `synchronous` as SQLite numbers it: a commit returns when the disk has it. */
const full = 2;

/** Opens the database (`:memory:` for none on disk), creating or migrating it. Throws with a reason if that fails. */
export function openSqliteStore(file: string, log: Log, { seal }: { readonly seal: AuditSeal }): Store {
  const db = openDatabase(file);
  const rows = { ...createWorkerRows(db), ...createJobRows(db), ...createEventRows(db) };
  const writer = createWriter(db, cause => log.error('store.effect_failed', { cause }));
  const tx: Tx = { ...rows, ...createAuditAppend(db, seal), afterCommit: writer.afterCommit };
  return {
    ...rows,
    audit: createAuditTrail(db),
    onRecovery() {},
    write: command => writer.write(() => command(tx)),
    async close() {
      writer.close();
      // Those whose commands have just been committed may look once more before they answer.
      await setImmediate();
      db.close();
    },
  };
}

function openDatabase(file: string): Database.Database {
  const onDisk = file !== ':memory:';
  // Made with its mode before SQLite writes a byte; its companions (-wal, -shm) take the mode over.
  if (onDisk) {
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  }
  const db = new Database(file);
  try {
    db.pragma('journal_mode = WAL');
    db.pragma('foreign_keys = ON');
    // After WAL, not before: the pragma reads FULL either way, but would fall to NORMAL with the first write.
    db.pragma('synchronous = FULL');
    if (process.platform === 'darwin') db.pragma('fullfsync = 1');
    migrate(db);
    const synchronous = db.pragma('synchronous', { simple: true });
    if (synchronous !== full)
      throw new Error(`SQLite runs with synchronous=${String(synchronous)}, not FULL`);
    return db;
  } catch (cause) {
    db.close();
    if (!(cause instanceof Database.SqliteError) || cause.code !== 'SQLITE_NOTADB') throw cause;
    throw new Error(`${file} is not a database: move it out of the way, or use another --data-dir`, {
      cause,
    });
  }
}
