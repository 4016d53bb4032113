import { closeSync, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished, vi } from 'vitest';
import type { Log } from '../../../main/orchestrator/ports/index.ts';
import { openSqliteStore, type SqliteStore, type StoreDeps } from '../../../main/store/sqlite-store.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { testSeal } from '../../support/seal.ts';

/** A store in a file. The test determines its time and its faults, and reads its log. */
export interface StoreBench {
  readonly file: string;
  readonly store: SqliteStore;
  // The connection that the store itself uses.
  readonly db: Database.Database;
  readonly clock: VirtualClock;
  // The names of the logged events.
  readonly logged: readonly string[];
  readonly fatal: readonly unknown[];
  // Makes each statement that starts with `sql` fail, until the returned function is called.
  fail(sql: string, code: string): () => void;
}

export const newFile = (): string => join(openFolder(), 'trainyard.db');

export function listingLog(logged: string[]): Log {
  const note = (event: string): void => void logged.push(event);
  return { info: note, warn: note, error: note };
}

export function openBench(file = newFile(), changes: Partial<StoreDeps> = {}): StoreBench {
  const clock = createVirtualClock();
  const logged: string[] = [];
  const fatal: unknown[] = [];
  const faults = new Map<string, string>();
  const parts = {
    log: listingLog(logged),
    clock,
    onFatal: (cause: unknown) => fatal.push(cause),
    seal: testSeal,
    ...changes,
  };
  const { store, db } = withFaults(faults, () => openSqliteStore(file, parts));
  onTestFinished(() => store.close());
  return {
    file,
    store,
    db,
    clock,
    logged,
    fatal,
    fail(sql, code) {
      faults.set(sql, code);
      return () => faults.delete(sql);
    },
  };
}

// Wraps the calls of the connection, because SQLite itself cannot be made to fail on purpose.
function withFaults<S>(faults: ReadonlyMap<string, string>, open: () => S) {
  const strike = (sql: string): void => {
    for (const [start, code] of faults) {
      if (sql.startsWith(start)) throw new Database.SqliteError(`${start} fails`, code);
    }
  };
  const pragma = vi.spyOn(Database.prototype, 'pragma');
  const { prepare } = Database.prototype;
  const preparing = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (
    this: Database.Database,
    sql: string,
  ) {
    const statement = prepare.call(this, sql);
    for (const method of ['get', 'all', 'run'] as const) {
      const act = statement[method].bind(statement) as (...input: unknown[]) => unknown;
      Object.assign(statement, {
        [method](...input: unknown[]) {
          strike(sql);
          return act(...input);
        },
      });
    }
    return statement;
  });
  const store = open();
  const [db] = pragma.mock.contexts;
  pragma.mockRestore();
  preparing.mockRestore();
  if (!(db instanceof Database)) throw new Error('the store asked for no pragma');
  const exec = db.exec.bind(db);
  db.exec = sql => {
    strike(sql);
    return exec(sql);
  };
  return { store, db };
}

export const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

export const modesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).map(name => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );

export function scribble(file: string, at: number, bytes: Uint8Array): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}
