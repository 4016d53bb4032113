import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { sizeOf } from '../db/file-check.ts';
import { minThreadBytes, runInThread, type ThreadResult } from '../db/sqlite-thread.ts';

/**
 * Returns SQLite's description of the damage in a copy of the database; null when the copy is intact. Throws SQLite's error when
 * the file cannot be opened. Checks a large file in a separate thread, because the check of one table can take seconds.
 */
export async function findDamageInCopy(file: string, signal: AbortSignal): Promise<string | null> {
  if ((sizeOf(file) ?? 0) < minThreadBytes) return findDamageInSlices(file, signal);
  const found = await checkInThread(file, signal);
  return found === 'unavailable' ? findDamageInSlices(file, signal) : found.value;
}

/** Checks one table per turn of the event loop. */
async function findDamageInSlices(file: string, signal: AbortSignal): Promise<string | null> {
  const db = new Database(file);
  try {
    // The copy of a database in WAL mode is in WAL mode, too. A backup must be a single file without a log.
    db.pragma('journal_mode = DELETE');
    const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck();
    for (const table of tables.all()) {
      const [found] = db
        .prepare<[], string>(`PRAGMA quick_check("${table.replaceAll('"', '""')}")`)
        .pluck()
        .all();
      if (found !== 'ok') return String(found);
      await setImmediate(undefined, { signal });
    }
    return null;
  } finally {
    db.close();
  }
}

const checkProgram = `
  const db = new Database(input.file);
  try {
    db.pragma('journal_mode = DELETE');
    const [found] = db.prepare('PRAGMA quick_check(1)').pluck().all();
    return found === 'ok' ? null : String(found);
  } finally {
    db.close();
  }`;

/** Like `findDamageInCopy`, but in a thread. Resolves to `unavailable` when the thread cannot load SQLite. @internal */
export const checkInThread = (file: string, signal: AbortSignal): Promise<ThreadResult<string | null>> =>
  runInThread<string | null>(checkProgram, { file }, signal);
