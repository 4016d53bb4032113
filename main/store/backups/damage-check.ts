import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { sizeOf } from '../db/file-check.ts';

/** Checks of smaller files take less time than a thread needs to start. */
const largeBytes = 64 * 1_048_576;

/**
 * Returns SQLite's description of the damage to a copy; null when it is intact. Throws SQLite's error when the file cannot be
 * opened. A thread of its own checks a large file, because the check of one table takes seconds.
 */
export async function findDamageInCopy(file: string, signal: AbortSignal): Promise<string | null> {
  if ((sizeOf(file) ?? 0) < largeBytes) return findDamageInSlices(file, signal);
  const found = await checkInThread(file, signal);
  return found === 'unavailable' ? findDamageInSlices(file, signal) : found.damage;
}

/** Lets other work run between tables. */
async function findDamageInSlices(file: string, signal: AbortSignal): Promise<string | null> {
  const db = new Database(file);
  try {
    // The copy of a database in WAL mode is marked as WAL, too.
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

/** The program of the thread. A text, because a bundled server has no file for it. */
const program = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require(workerData.module);
  parentPort.postMessage({ kind: 'started' });
  try {
    const db = new Database(workerData.file);
    db.pragma('journal_mode = DELETE');
    const [found] = db.prepare('PRAGMA quick_check(1)').pluck().all();
    db.close();
    parentPort.postMessage({ kind: 'checked', damage: found === 'ok' ? null : String(found) });
  } catch (cause) {
    parentPort.postMessage({ kind: 'failed', message: cause.message, code: cause.code ?? '' });
  }`;

type Message =
  | { readonly kind: 'started' }
  | { readonly kind: 'checked'; readonly damage: string | null }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string };

/** Resolves to `unavailable` when the thread cannot load SQLite. @internal */
export function checkInThread(
  file: string,
  signal: AbortSignal,
): Promise<'unavailable' | { readonly damage: string | null }> {
  const module = createRequire(import.meta.url).resolve('better-sqlite3');
  const thread = new Worker(program, { eval: true, workerData: { module, file } });
  const stop = (): void => void thread.terminate();
  signal.addEventListener('abort', stop, { once: true });
  return new Promise<'unavailable' | { readonly damage: string | null }>((resolve, reject) => {
    let hasStarted = false;
    thread.on('message', (message: Message) => {
      if (message.kind === 'started') hasStarted = true;
      else if (message.kind === 'checked') resolve({ damage: message.damage });
      else reject(new Database.SqliteError(message.message, message.code));
    });
    thread.on('error', cause => {
      if (!hasStarted) resolve('unavailable');
      else reject(new Error('the check failed', { cause }));
    });
    thread.on('exit', () => {
      if (signal.aborted) reject(new Error('the check was aborted', { cause: signal.reason }));
      else reject(new Error('the check ended without a result'));
    });
  }).finally(() => signal.removeEventListener('abort', stop));
}
