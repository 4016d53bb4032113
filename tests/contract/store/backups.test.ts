import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Log } from '../../../main/orchestrator/ports/index.ts';
import { openBackupFolder } from '../../../main/store/backups/backups.ts';
import { openDataStore } from '../../../main/store/data-store.ts';
import { migrate } from '../../../main/store/db/migrations.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { modesIn, newFile, openStoreFixture, overwriteBytes } from './bench.ts';
import { emptyPayload, makeJob, put, putWorkers, quietDeps } from './builders.ts';
import { testSeal } from '../../support/seal.ts';

const isWindows = process.platform === 'win32';
const hourMs = 3_600_000;

// Creates a log. Its method `next` resolves with the fields of the next line for the given event.
function createAwaitableLog(): {
  readonly log: Log;
  next(event: string): Promise<Readonly<Record<string, unknown>>>;
} {
  const waiting = new Map<string, (fields: Readonly<Record<string, unknown>>) => void>();
  const record = (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    const resolve = waiting.get(event);
    waiting.delete(event);
    resolve?.(fields);
  };
  return {
    log: { info: record, warn: record, error: record },
    next: event => new Promise(resolve => waiting.set(event, resolve)),
  };
}

function openData(file: string, clock = createVirtualClock()) {
  const lines = createAwaitableLog();
  const dataStore = openDataStore(file, { clock, log: lines.log, seal: testSeal, onFatal: () => {} });
  onTestFinished(() => dataStore.store.close());
  return { ...dataStore, clock, lines, folder: openBackupFolder(file, clock) };
}

// Creates a database file with this number of jobs.
async function databaseWith(jobs: number): Promise<string> {
  const file = newFile();
  const store = openSqliteStore(file, quietDeps());
  for (let order = 1; order <= jobs; order++) await put(store, makeJob(order));
  await store.close();
  return file;
}

function jobsIn(file: string): unknown {
  const db = new Database(file, { readonly: true });
  try {
    expect(db.pragma('journal_mode', { simple: true })).toBe('delete');
    return db.prepare('SELECT count(*) FROM jobs').pluck().get();
  } finally {
    db.close();
  }
}

describe('hourly backups', () => {
  test('creates a backup every hour', async () => {
    const { store, clock, lines, folder } = openData(newFile());
    await clock.advance(hourMs - 1);
    expect(existsSync(folder.path)).toBe(false);
    for (const order of [1, 2, 3]) {
      await put(store, makeJob(order));
      const backupMade = lines.next('backup.made');
      await clock.advance(order === 1 ? 1 : hourMs);
      const { file } = await backupMade;
      expect(jobsIn(String(file))).toBe(order);
      // The hour until the next backup starts when this backup is finished.
      await clock.settle();
    }
    expect(readdirSync(folder.path).toSorted()).toEqual([
      'hourly-000001-2026-01-01T13-00-00Z.db',
      'hourly-000002-2026-01-01T14-00-00Z.db',
      'hourly-000003-2026-01-01T15-00-00Z.db',
    ]);
  });

  test.skipIf(isWindows)('creates backups readable only by their owner under any umask', async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const { clock, lines, folder } = openData(await databaseWith(1));
    const backupMade = lines.next('backup.made');
    await clock.advance(0);
    await backupMade;
    expect(statSync(folder.path).mode & 0o777).toBe(0o700);
    expect(Object.values(modesIn(folder.path))).toEqual(['600']);
  });

  test('removes old hourly backups, and keeps all other files', async () => {
    const file = await databaseWith(1);
    const path = join(dirname(file), 'backups');
    mkdirSync(path);
    for (let number = 1; number <= 30; number++) {
      writeFileSync(join(path, `hourly-${String(number).padStart(6, '0')}-2025-12-30T11-59-00Z.db`), '');
    }
    writeFileSync(join(path, 'before-schema-2-000031-2026-01-01T10-00-00Z.db'), '');
    writeFileSync(join(path, 'mine.db'), '');
    const { clock, lines } = openData(file);
    const backupMade = lines.next('backup.made');
    await clock.advance(hourMs);
    await backupMade;
    const names = readdirSync(path);
    expect(names).toHaveLength(26);
    expect(names).toEqual(
      expect.arrayContaining([
        'before-schema-2-000031-2026-01-01T10-00-00Z.db',
        'mine.db',
        'hourly-000032-2026-01-01T13-00-00Z.db',
        'hourly-000008-2025-12-30T11-59-00Z.db',
      ]),
    );
  });
});

describe('backups at the start', () => {
  test('creates a backup at the start only when the last backup is too old', async () => {
    const file = await databaseWith(2);
    const first = openData(file);
    const backupMade = first.lines.next('backup.made');
    await first.clock.advance(0);
    expect(jobsIn(String((await backupMade)['file']))).toBe(2);
    await first.store.close();
    const second = openData(file);
    const next = second.lines.next('backup.made');
    await second.clock.advance(hourMs - 1);
    expect(second.folder.list()).toHaveLength(1);
    await second.clock.advance(1);
    await next;
    expect(second.folder.list()).toHaveLength(2);
  });

  test('creates no backup of a new database', async () => {
    const { clock, folder } = openData(newFile());
    await clock.advance(1_000);
    expect(folder.list()).toEqual([]);
  });

  test('removes the leftovers of an interrupted backup', async () => {
    const file = await databaseWith(1);
    const path = join(dirname(file), 'backups');
    mkdirSync(path);
    for (const name of ['unfinished', 'unfinished-journal', 'unfinished-wal'])
      writeFileSync(join(path, name), 'x');
    const { clock, lines } = openData(file);
    const backupMade = lines.next('backup.made');
    await clock.advance(0);
    await backupMade;
    expect(readdirSync(path)).toEqual(['hourly-000001-2026-01-01T12-00-00Z.db']);
  });
});

describe('writes during a backup', () => {
  test('includes writes during a backup, and does not delay them', async () => {
    const { store, db } = openStoreFixture();
    await putWorkers(store, 'w_1');
    const largePayload = { config: { text: 'x'.repeat(100_000) }, dataloader: null, files: {} };
    for (let order = 1; order <= 200; order++)
      await store.write(tx => tx.insertJob(makeJob(order), largePayload));
    const folder = openBackupFolder(db.name, createVirtualClock());
    let isOver = false;
    const { signal } = new AbortController();
    const running = folder
      .add('hourly', file => store.copyTo(file, signal), signal)
      .finally(() => {
        isOver = true;
      });
    let order = 200;
    while (!isOver) await store.write(tx => tx.insertJob(makeJob(++order), emptyPayload));
    // More than 30 writes finished during the backup, so no write waited for the whole backup.
    expect(order).toBeGreaterThan(230);
    expect(Number(jobsIn(await running))).toBeGreaterThan(230);
  });

  test('deletes an unfinished backup when the store closes', async () => {
    const file = await databaseWith(1);
    const db = new Database(file);
    db.exec('CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(8000000))');
    db.close();
    const { store, clock, folder } = openData(file);
    await clock.advance(0);
    expect(readdirSync(folder.path)).toContain('unfinished');
    await store.close();
    expect(readdirSync(folder.path)).toEqual([]);
    await clock.advance(2 * hourMs);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe('failing backups', () => {
  test('logs a failed backup, keeps the store working, and tries again in an hour', async () => {
    const file = await databaseWith(1);
    writeFileSync(join(dirname(file), 'backups'), 'a file where the folder should be');
    const { store, clock, lines } = openData(file);
    const firstFailure = lines.next('backup.failed');
    await clock.advance(0);
    expect(await firstFailure).toMatchObject({
      cause: expect.any(Error),
      note: expect.stringContaining('in an hour'),
    });
    await put(store, makeJob(2));
    const secondFailure = lines.next('backup.failed');
    await clock.advance(hourMs);
    await secondFailure;
    expect(store.pendingJobs()).toHaveLength(2);
  });

  test('deletes a backup whose copy is damaged', async () => {
    const file = newFile();
    const folder = openBackupFolder(file, createVirtualClock());
    const { store } = openStoreFixture(file);
    await put(store, makeJob(1));
    const { signal } = new AbortController();
    const damaged = folder.add(
      'hourly',
      async copy => {
        await store.copyTo(copy, signal);
        overwriteBytes(copy, 3 * 4_096, Buffer.alloc(4_096, 0x5a));
      },
      signal,
    );
    await expect(damaged).rejects.toThrow(/the copy is damaged/);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe('backups before a migration', () => {
  const first = 'CREATE TABLE a (x INTEGER) STRICT';
  const second = 'CREATE TABLE b (y INTEGER) STRICT';
  const schemaAt = (file: string): unknown => {
    const db = new Database(file, { readonly: true });
    try {
      const tables = db
        .prepare("SELECT group_concat(name) FROM sqlite_schema WHERE type = 'table'")
        .pluck()
        .get();
      return [db.pragma('user_version', { simple: true }), tables];
    } finally {
      db.close();
    }
  };
  // Opens a database of schema version 1 with a program that has these later migrations.
  function migrateFrom(file: string, later: readonly string[]): number {
    const folder = openBackupFolder(file, createVirtualClock());
    const db = new Database(file);
    try {
      return migrate(db, (open, schema) => folder.addNow(`before-schema-${schema}`, open), [first, ...later]);
    } finally {
      db.close();
    }
  }

  test('creates one backup of the old schema before a migration', () => {
    const file = newFile();
    expect(migrateFrom(file, [])).toBe(0);
    expect(existsSync(join(dirname(file), 'backups'))).toBe(false);
    expect(migrateFrom(file, [second, 'CREATE TABLE c (z INTEGER) STRICT'])).toBe(1);
    expect(schemaAt(file)).toEqual([3, 'a,b,c']);
    const backup = 'before-schema-3-000001-2026-01-01T12-00-00Z.db';
    expect(modesIn(join(dirname(file), 'backups'))).toEqual({ [backup]: '600' });
    expect(schemaAt(join(dirname(file), 'backups', backup))).toEqual([1, 'a']);
    expect(migrateFrom(file, [second, 'CREATE TABLE c (z INTEGER) STRICT'])).toBe(3);
    expect(readdirSync(join(dirname(file), 'backups'))).toHaveLength(1);
  });

  test('rolls back the whole migration when one of its steps fails', () => {
    const file = newFile();
    migrateFrom(file, []);
    expect(() => migrateFrom(file, [second, 'CREATE NONSENSE'])).toThrow('NONSENSE');
    expect(schemaAt(file)).toEqual([1, 'a']);
  });

  test('keeps at most three backups when a migration fails at every start', () => {
    const file = newFile();
    migrateFrom(file, []);
    for (let start = 0; start < 5; start++) {
      expect(() => migrateFrom(file, ['CREATE NONSENSE'])).toThrow('NONSENSE');
    }
    const numbers = openBackupFolder(file, createVirtualClock())
      .list()
      .map(({ number }) => number);
    expect(numbers).toEqual([5, 4, 3]);
  });

  test('does not migrate when the backup fails', () => {
    const file = newFile();
    migrateFrom(file, []);
    writeFileSync(join(dirname(file), 'backups'), 'a file where the folder should be');
    expect(() => migrateFrom(file, [second])).toThrow('backups');
    expect(schemaAt(file)).toEqual([1, 'a']);
  });

  // Current schema version. At version 1 there is no migration to repeat, so the test is skipped.
  const currentVersion = (() => {
    const db = new Database(':memory:');
    migrate(db);
    return Number(db.pragma('user_version', { simple: true }));
  })();

  test.skipIf(currentVersion === 1)('backs up a data folder before its store migrates', async () => {
    const file = await databaseWith(1);
    const db = new Database(file);
    db.pragma('user_version = 1');
    db.close();
    // The migration fails, because its second step was already applied.
    expect(() => openData(file)).toThrow();
    const [backup = ''] = readdirSync(join(dirname(file), 'backups'));
    expect(backup).toMatch(`before-schema-${currentVersion}-000001-`);
    expect(jobsIn(join(dirname(file), 'backups', backup))).toBe(1);
  });
});
