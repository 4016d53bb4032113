import type { Database } from 'better-sqlite3';
import { sizeOf } from './file-check.ts';
import { minThreadBytes, runInThread, type ThreadResult } from './sqlite-thread.ts';

/** Pages to copy per turn of the event loop. */
const pagesPerTurn = 100;

/**
 * Copies a database to an empty file. Copies a large database in a thread, so that the copy does not block the event loop: its
 * last step writes 16 MB in 70 to 100 ms. Rejects with SQLite's error, or when `signal` aborts the copy.
 */
export async function copyDatabase(db: Database, target: string, signal: AbortSignal): Promise<void> {
  if (!db.memory && (sizeOf(db.name) ?? 0) >= minThreadBytes) {
    const copied = await copyInThread(db.name, target, signal);
    if (copied !== 'unavailable') return;
  }
  const progress = (): number => {
    signal.throwIfAborted();
    return pagesPerTurn;
  };
  await db.backup(target, { progress });
}

/**
 * The read transaction fixes the state to copy. Otherwise, SQLite would start again after each change by the server's connection.
 * Larger steps than `pagesPerTurn` are faster, but an abort must wait for the current step.
 */
const copyProgram = `
  const db = new Database(input.source, { readonly: true, fileMustExist: true });
  try {
    db.exec('BEGIN');
    db.prepare('SELECT 1 FROM sqlite_schema').get();
    await db.backup(input.target, { progress: () => 1_000 });
    return null;
  } finally {
    db.close();
  }`;

/** Resolves to `unavailable` when the thread cannot load SQLite. @internal */
export const copyInThread = (
  source: string,
  target: string,
  signal: AbortSignal,
): Promise<ThreadResult<null>> => runInThread<null>(copyProgram, { source, target }, signal);
