import { existsSync, rmSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { AuditRow, AuditSeal } from '../../orchestrator/ports/index.ts';
import { companions } from '../db/file-check.ts';

/** Rows to copy per turn of the event loop. */
const rowsPerTurn = 5_000;

const columns = 'seq, at, type, actor_type, actor_id, address, target_type, target_id, details, hash';

type Position = Pick<AuditRow, 'seq' | 'hash'>;

/**
 * Replaces the audit trail in `to` with the trail in `from`, so that a restore never removes an audit row. `to` is the copy of a
 * backup, and `from` is the closed database that the copy will replace. Returns the newest row that `to` had before, or null. On
 * failure, `to` keeps its own trail.
 */
export async function copyTrail(from: string, to: string): Promise<Position | null> {
  const db = new Database(to);
  try {
    const replaced = newestRow(db);
    db.prepare('ATTACH ? AS running').run(from);
    db.exec('BEGIN IMMEDIATE');
    const triggers = dropTriggers(db);
    db.exec(
      'DELETE FROM audit; DELETE FROM audit_anchor; INSERT INTO audit_anchor SELECT * FROM running.audit_anchor',
    );
    await copyRows(db);
    // SQLite numbers new rows after this value, so that the number of a removed row is never used again.
    db.exec(
      `DELETE FROM sqlite_sequence WHERE name = 'audit';
       INSERT INTO sqlite_sequence SELECT name, seq FROM running.sqlite_sequence WHERE name = 'audit'`,
    );
    for (const trigger of triggers) db.exec(trigger);
    db.exec('COMMIT');
    return replaced;
  } finally {
    // Closing rolls back an open transaction.
    db.close();
  }
}

async function copyRows(db: Database.Database): Promise<void> {
  const copy = db.prepare<[number, number]>(
    `INSERT INTO audit (${columns}) SELECT ${columns} FROM running.audit WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  for (let last = Number.MIN_SAFE_INTEGER; ; last = newestRow(db)?.seq ?? last) {
    if (copy.run(last, rowsPerTurn).changes < rowsPerTurn) return;
    await setImmediate();
  }
}

/** Drops the triggers that forbid changes to the trail. Returns their SQL, so that the same transaction can create them again. */
function dropTriggers(db: Database.Database): readonly string[] {
  const triggers = db
    .prepare<[], { readonly name: string; readonly sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('audit', 'audit_anchor')",
    )
    .all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER "${name}"`);
  return triggers.map(({ sql }) => sql);
}

const newestRow = (db: Database.Database): Position | null =>
  db.prepare<[], Position>('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1').get() ?? null;

/**
 * Appends audit rows of a damaged database to `file`, the copy of a backup that will replace it. Takes the readable rows that
 * continue the backup's trail, up to the first gap or invalid seal. Returns the number of rows. Does not change `damaged`.
 */
export function salvageTrail(damaged: string, file: string, seal: AuditSeal): number {
  const db = new Database(file);
  try {
    let transferred = 0;
    const insert = db.prepare<unknown[]>(`INSERT INTO audit (${columns}) VALUES (${'?, '.repeat(9)}?)`);
    db.transaction(() => {
      let before = newestRow(db) ?? { seq: 0, hash: null };
      for (const row of readableRows(damaged, before.seq)) {
        if (row.seq !== before.seq + 1 || seal(before.hash, row) !== row.hash) return;
        insert.run(...columns.split(', ').map(name => row[name as keyof AuditRow]));
        before = row;
        transferred += 1;
      }
    }).immediate();
    return transferred;
  } finally {
    db.close();
  }
}

/** Yields audit rows up to the first row that cannot be read. */
function* readableRows(damaged: string, after: number): Generator<AuditRow> {
  const absent = companions.map(suffix => damaged + suffix).filter(name => !existsSync(name));
  let db: Database.Database | null = null;
  try {
    db = new Database(damaged, { readonly: true });
    yield* db
      .prepare<[number], AuditRow>(`SELECT ${columns} FROM audit WHERE seq > ? ORDER BY seq`)
      .iterate(after);
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause;
  } finally {
    db?.close();
    // Removes the -wal and -shm files that a reader of a WAL database creates.
    for (const name of absent) rmSync(name, { force: true });
  }
}
