import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** Minimum size of a file that is worth a thread, in bytes. A thread takes longer to start than the work on a smaller file. */
export const minThreadBytes = 64 * 1_048_576;

/** Source code of the thread, as a string, because a bundled server has no separate file for the thread. */
const programOf = (body: string): string => `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require(workerData.module);
  parentPort.postMessage({ kind: 'started' });
  const run = async input => {${body}};
  run(workerData.input).then(
    value => parentPort.postMessage({ kind: 'done', value }),
    ({ message, code = '' }) => parentPort.postMessage({ kind: 'failed', message, code }),
  );`;

type Message<T> =
  | { readonly kind: 'started' }
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string };

export type ThreadResult<T> = 'unavailable' | { readonly value: T };

/**
 * Runs the body of an async function in a thread, where SQLite does not block the event loop. The body uses `Database` and
 * `input`, which must be cloneable. Resolves to `unavailable` when the thread cannot load SQLite. Rejects with SQLite's error,
 * or when `signal` aborts the thread.
 */
export function runInThread<T>(body: string, input: object, signal: AbortSignal): Promise<ThreadResult<T>> {
  const module = createRequire(import.meta.url).resolve('better-sqlite3');
  const thread = new Worker(programOf(body), { eval: true, workerData: { module, input } });
  const stop = (): void => void thread.terminate();
  signal.addEventListener('abort', stop, { once: true });
  return new Promise<ThreadResult<T>>((resolve, reject) => {
    let hasStarted = false;
    thread.on('message', (message: Message<T>) => {
      if (message.kind === 'started') hasStarted = true;
      else if (message.kind === 'done') resolve({ value: message.value });
      else reject(new Database.SqliteError(message.message, message.code));
    });
    thread.on('error', cause => {
      if (!hasStarted) resolve('unavailable');
      else reject(new Error("SQLite's thread failed", { cause }));
    });
    thread.on('exit', () => {
      if (signal.aborted) reject(new Error("SQLite's thread was aborted", { cause: signal.reason }));
      else reject(new Error("SQLite's thread ended without a result"));
    });
  }).finally(() => signal.removeEventListener('abort', stop));
}
