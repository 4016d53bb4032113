import { closeSync, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished, vi } from 'vitest';
import type { Log } from '../../../main/orchestrator/ports/index.ts';
import { openSqliteStore, type SqliteStore, type StoreDeps } from '../../../main/store/sqlite-store.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { testSeal } from '../../support/seal.ts';

/** A store in a file, with a virtual clock. A test can inject SQLite errors and read the logged events. */
export interface StoreFixture {
  readonly file: string;
  readonly store: SqliteStore;
  // The connection that the store itself uses.
  readonly db: Database.Database;
  readonly clock: VirtualClock;
  // The names of the logged events.
  readonly logged: readonly string[];
  // The errors that the store passed to `onFatal`.
  readonly fatal: readonly unknown[];
  // Makes each statement that starts with `sql` fail with this SQLite code, until the returned function is called.
  fail(sql: string, code: string): () => void;
}

export const newFile = (): string => join(openFolder(), 'trainyard.db');

export function listingLog(logged: string[]): Log {
  const record = (event: string): void => void logged.push(event);
  return { info: record, warn: record, error: record };
}

export function openStoreFixture(file = newFile(), changes: Partial<StoreDeps> = {}): StoreFixture {
  const clock = createVirtualClock();
  const logged: string[] = [];
  const fatal: unknown[] = [];
  const faults = new Map<string, string>();
  const deps = {
    log: listingLog(logged),
    clock,
    onFatal: (cause: unknown) => fatal.push(cause),
    seal: testSeal,
    ...changes,
  };
  const { store, db } = withFaults(faults, () => openSqliteStore(file, deps));
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

// Wraps the methods of the connection, because a test cannot make SQLite itself fail.
function withFaults<S>(faults: ReadonlyMap<string, string>, open: () => S) {
  const throwIfFaulty = (sql: string): void => {
    for (const [start, code] of faults) {
      if (sql.startsWith(start)) throw new Database.SqliteError(`${start} fails`, code);
    }
  };
  const pragma = vi.spyOn(Database.prototype, 'pragma');
  const { prepare } = Database.prototype;
  const prepareSpy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (
    this: Database.Database,
    sql: string,
  ) {
    const statement = prepare.call(this, sql);
    for (const method of ['get', 'all', 'run'] as const) {
      const original = statement[method].bind(statement) as (...input: unknown[]) => unknown;
      Object.assign(statement, {
        [method](...input: unknown[]) {
          throwIfFaulty(sql);
          return original(...input);
        },
      });
    }
    return statement;
  });
  const store = open();
  const [db] = pragma.mock.contexts;
  pragma.mockRestore();
  prepareSpy.mockRestore();
  if (!(db instanceof Database)) throw new Error('the store executed no pragma');
  const exec = db.exec.bind(db);
  db.exec = sql => {
    throwIfFaulty(sql);
    return exec(sql);
  };
  return { store, db };
}

export const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

export const modesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).map(name => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );

export function overwriteBytes(file: string, at: number, bytes: Uint8Array): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}
