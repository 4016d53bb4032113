import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Store } from '../../../main/orchestrator/ports/index.ts';
import { StorageError } from '../../../main/store/db/group-commit.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { newFile, openStoreFixture, overwriteBytes, sizeOf, type StoreFixture } from './bench.ts';
import { emptyPayload, jobId, makeJob, put, putWorkers, quietDeps } from './builders.ts';
import { everyJob } from '../../support/every-job.ts';
import { auditFilter } from '../../support/seal.ts';

// After these errors, the store refuses writes until the disk accepts changes again.
const refusingCodes = [
  'SQLITE_FULL',
  'SQLITE_IOERR_WRITE',
  'SQLITE_IOERR_READ',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
];
// After these errors, the store stops.
const fatalCodes = [
  'SQLITE_IOERR_FSYNC',
  'SQLITE_IOERR_DIR_FSYNC',
  'SQLITE_CORRUPT',
  'SQLITE_CORRUPT_INDEX',
  'SQLITE_NOTADB',
];

const largePayload = { config: { text: 'x'.repeat(200_000) }, dataloader: null, files: {} };
// Limits the growth of the database to this number of pages, like a disk that is almost full.
const allowPages = (db: Database.Database, more: number): void =>
  void db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true })) + more}`);

// Records the outcome of a write without waiting for it.
function follow(written: Promise<unknown>): { readonly outcome: string } {
  const state = { outcome: 'none' };
  written.then(
    () => (state.outcome = 'stored'),
    () => (state.outcome = 'refused'),
  );
  return state;
}

const expectRefused = (store: Store): Promise<void> =>
  expect(put(store, makeJob(99))).rejects.toBeInstanceOf(StorageError);

// Makes the disk of the store refuse changes. The returned function repairs the disk.
async function refuseWrites(fixture: StoreFixture, code = 'SQLITE_FULL'): Promise<() => void> {
  const repair = fixture.fail('COMMIT', code);
  const repairProbe = fixture.fail('CREATE TABLE storage_probe', code);
  await expectRefused(fixture.store);
  return () => {
    repair();
    repairProbe();
  };
}

describe('a disk that refuses changes', () => {
  test.each(refusingCodes)(
    'rolls back all commands of a transaction on %s, and runs none of their effects',
    async code => {
      const { store, db, fail } = openStoreFixture();
      const repair = fail('COMMIT', code);
      let effects = 0;
      const group = await Promise.allSettled([
        store.write(tx => {
          tx.insertJob(makeJob(1), emptyPayload);
          tx.afterCommit(() => effects++);
        }),
        put(store, makeJob(2)),
      ]);
      repair();
      for (const result of group) expect(result).toMatchObject({ reason: expect.any(StorageError) });
      expect([effects, store.pendingJobs(), db.inTransaction]).toEqual([0, [], false]);
    },
  );

  test('refuses all writes and allows reads until a probe succeeds', async () => {
    const fixture = openStoreFixture();
    const { store, clock } = fixture;
    await put(store, makeJob(1));
    expect(store.acceptsWrites()).toBe(true);
    const repair = await refuseWrites(fixture);
    repair();
    expect(store.acceptsWrites()).toBe(false);
    let hasRun = false;
    const lateWrite = store.write(() => {
      hasRun = true;
    });
    await expect(lateWrite).rejects.toBeInstanceOf(StorageError);
    await clock.advance(499);
    await expectRefused(store);
    expect([hasRun, store.pendingJobs()]).toEqual([false, [makeJob(1)]]);
    await clock.advance(1);
    expect(store.acceptsWrites()).toBe(true);
    await put(store, makeJob(2));
    expect(store.pendingJobs()).toHaveLength(2);
  });

  test('refuses the commands that are queued behind a refused commit, without running them', async () => {
    const { store, fail } = openStoreFixture();
    fail('COMMIT', 'SQLITE_FULL');
    const first = follow(put(store, makeJob(1)));
    let hasRun = false;
    const nestedWrites: { readonly outcome: string }[] = [];
    await expect(
      store.write(() => {
        // Issues a write for the next transaction, which the disk refuses.
        nestedWrites.push(
          follow(
            store.write(() => {
              hasRun = true;
            }),
          ),
        );
      }),
    ).rejects.toBeInstanceOf(StorageError);
    await new Promise(setImmediate);
    expect([first.outcome, nestedWrites[0]?.outcome, hasRun]).toEqual(['refused', 'refused', false]);
  });

  test('probes a refusing disk every 0.5 s, and logs the start and the end of the outage', async () => {
    const fixture = openStoreFixture();
    const { store, clock, logged } = fixture;
    const repair = await refuseWrites(fixture, 'SQLITE_IOERR_WRITE');
    for (let probes = 0; probes < 10; probes += 1) {
      await clock.advance(500);
      await expectRefused(store);
    }
    expect(logged).toEqual(['store.refusing']);
    repair();
    await clock.advance(500);
    await put(store, makeJob(1));
    expect(logged).toEqual(['store.refusing', 'store.recovered']);
    await clock.advance(60_000);
    expect(logged).toHaveLength(2);
  });

  test('notifies all recovery listeners on each recovery, even when one of them throws', async () => {
    const fixture = openStoreFixture();
    const { store, clock, logged } = fixture;
    const notified: string[] = [];
    store.onRecovery(() => {
      throw new Error('no');
    });
    store.onRecovery(() => {
      void put(store, makeJob(notified.length + 1)).then(() => notified.push('stored'));
    });
    for (const times of [1, 2]) {
      const repair = await refuseWrites(fixture);
      await clock.advance(500);
      expect(notified).toHaveLength(times - 1);
      repair();
      await clock.advance(500);
      expect(notified).toHaveLength(times);
    }
    expect(store.pendingJobs()).toHaveLength(2);
    expect(logged.filter(event => event === 'store.recovery_listener_failed')).toHaveLength(2);
  });

  test('keeps refusing writes while only a few bytes fit on the disk', async () => {
    const { store, db, clock } = openStoreFixture();
    await putWorkers(store, 'w_1');
    allowPages(db, 0);
    await expect(store.write(tx => tx.insertJob(makeJob(1), largePayload))).rejects.toBeInstanceOf(
      StorageError,
    );
    allowPages(db, 20);
    await clock.advance(500);
    await expectRefused(store);
    allowPages(db, 1_000);
    await clock.advance(500);
    await store.write(tx => tx.insertJob(makeJob(1), largePayload));
    const tables = db.prepare("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%probe%'").pluck();
    expect([store.workers().length, tables.get(), db.inTransaction]).toEqual([1, 0, false]);
  });

  test('leaves no transaction open after a failed probe', async () => {
    const fixture = openStoreFixture();
    const { db, clock, store } = fixture;
    const repair = await refuseWrites(fixture);
    await clock.advance(500);
    expect(db.inTransaction).toBe(false);
    repair();
    const repairDrop = fixture.fail('DROP TABLE storage_probe', 'SQLITE_FULL');
    await clock.advance(500);
    await expectRefused(store);
    repairDrop();
    await clock.advance(500);
    await put(store, makeJob(1));
  });

  test('stops probing when the store is closed', async () => {
    const fixture = openStoreFixture();
    const repair = await refuseWrites(fixture);
    await fixture.store.close();
    repair();
    await fixture.clock.advance(60_000);
    expect(fixture.logged).toEqual(['store.refusing']);
    expect(openStoreFixture(fixture.file).store.pendingJobs()).toEqual([]);
  });
});

test('rejects a write while another program locks the database, but accepts later writes', async () => {
  const { store, logged, file } = openStoreFixture();
  const other = new Database(file);
  other.exec('BEGIN IMMEDIATE');
  await expect(put(store, makeJob(1))).rejects.toBeInstanceOf(StorageError);
  other.close();
  await put(store, makeJob(2));
  expect([store.pendingJobs(), logged]).toEqual([[makeJob(2)], ['store.commit_failed']]);
});

describe('fatal errors of the disk', () => {
  test.each(fatalCodes)('stops after %s, and answers no write', async code => {
    const { store, clock, logged, fatal, fail } = openStoreFixture();
    const repair = fail('COMMIT', code);
    const group = [follow(put(store, makeJob(1))), follow(put(store, makeJob(2)))];
    await clock.settle();
    repair();
    group.push(follow(put(store, makeJob(3))));
    await clock.advance(60_000);
    expect(group.map(({ outcome }) => outcome)).toEqual(['none', 'none', 'none']);
    expect(fatal).toEqual([expect.objectContaining({ code })]);
    expect(logged).toEqual(['store.fatal']);
  });

  test('detects a fatal error during a probe', async () => {
    const fixture = openStoreFixture();
    await refuseWrites(fixture);
    fixture.fail('CREATE TABLE storage_probe', 'SQLITE_IOERR_FSYNC');
    await fixture.clock.advance(60_000);
    expect([fixture.logged, fixture.fatal.length]).toEqual([['store.refusing', 'store.fatal'], 1]);
  });

  test('detects a fatal error during a rollback', async () => {
    const { store, clock, fatal, fail } = openStoreFixture();
    fail('COMMIT', 'SQLITE_FULL');
    fail('ROLLBACK', 'SQLITE_IOERR_FSYNC');
    const written = follow(put(store, makeJob(1)));
    await clock.settle();
    expect([written.outcome, fatal.length]).toEqual(['none', 1]);
  });

  test('does not write to the database after a fatal error, not even when closing', async () => {
    const fixture = openStoreFixture();
    const { store, file } = fixture;
    await put(store, makeJob(1));
    const repair = fixture.fail('COMMIT', 'SQLITE_IOERR_FSYNC');
    void put(store, makeJob(2));
    await fixture.clock.settle();
    repair();
    const before = [file, `${file}-wal`].map(name => readFileSync(name));
    await store.close();
    expect([file, `${file}-wal`].map(name => readFileSync(name))).toEqual(before);
    fixture.db.close();
    expect(openStoreFixture(file).store.job(jobId('j_1'))).toEqual(makeJob(1));
  });

  test.skipIf(process.platform === 'win32').each([
    ['deleted', (file: string) => rmSync(file)],
    ['moved', (file: string) => renameSync(file, `${file}.moved`)],
    [
      'replaced',
      (file: string) => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
    ],
  ])('stops writing when the database file is %s', async (_what, removeFile) => {
    const { store, file, clock, fatal, logged } = openStoreFixture();
    await put(store, makeJob(1));
    removeFile(file);
    const lateWrite = follow(put(store, makeJob(2)));
    await clock.settle();
    expect(lateWrite.outcome).toBe('none');
    expect(fatal).toEqual([expect.objectContaining({ code: 'SQLITE_READONLY_DBMOVED' })]);
    expect(logged).toEqual(['store.fatal']);
  });

  const allJobs = { ...everyJob, includeFinal: true, limit: 9, offset: 0 };
  const allRows = auditFilter({ limit: 9 });
  test.each([
    ['jobs', (store: Store) => store.jobs(allJobs)],
    ['audit', (store: Store) => store.audit.list(allRows)],
  ])('detects damage while it reads %s', async (table, read) => {
    const file = newFile();
    const first = openSqliteStore(file, quietDeps());
    await putWorkers(first, 'w_1');
    await put(first, makeJob(1));
    await first.close();
    const fixture = openStoreFixture(file);
    const root = Number(
      fixture.db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table),
    );
    overwriteBytes(file, (root - 1) * 4_096, Buffer.alloc(4_096, 0x5a));
    expect(fixture.store.workers()).toHaveLength(1);
    expect(() => read(fixture.store)).toThrow('malformed');
    expect([fixture.logged, fixture.fatal.length]).toEqual([['store.fatal'], 1]);
  });
});

describe('write-ahead log of the database', () => {
  const write = (store: Store, order: number, bytes: number): Promise<void> =>
    store.write(tx =>
      tx.insertJob(makeJob(order), { config: { text: 'x'.repeat(bytes) }, dataloader: null, files: {} }),
    );

  test('checkpoints the write-ahead log before the log grows long, and reuses the log', async () => {
    const { store, file, clock } = openStoreFixture();
    for (let order = 1; order <= 80; order++) await write(store, order, 500_000);
    await clock.settle();
    expect(sizeOf(`${file}-wal`)).toBeLessThan(15_000_000);
    expect(sizeOf(file)).toBeGreaterThan(26_000_000);
  });

  test('shrinks a write-ahead log that grew during a long read', async () => {
    const { store, file, clock } = openStoreFixture();
    const reader = new Database(file, { readonly: true });
    onTestFinished(() => void reader.close());
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM jobs').get();
    for (let order = 1; order <= 20; order++) await write(store, order, 1_000_000);
    expect(sizeOf(`${file}-wal`)).toBeGreaterThan(18_000_000);
    reader.exec('COMMIT');
    for (let order = 21; order <= 24; order++) await write(store, order, 10);
    await clock.settle();
    await write(store, 25, 10);
    expect(sizeOf(`${file}-wal`)).toBeLessThanOrEqual(16 * 1_048_576);
  });

  test.each([
    ['SQLITE_FULL', ['store.refusing'], 0],
    ['SQLITE_IOERR_FSYNC', ['store.fatal'], 1],
    ['SQLITE_LOCKED', ['store.checkpoint_failed'], 0],
  ])('handles an error of a checkpoint: %s', async (code, events, fatal) => {
    const fixture = openStoreFixture();
    fixture.fail('PRAGMA wal_checkpoint(PASSIVE)', code);
    await write(fixture.store, 1, 13_000_000);
    await fixture.clock.settle();
    expect([fixture.logged, fixture.fatal.length]).toEqual([events, fatal]);
  });

  test('checkpoints the write-ahead log when the store closes, and detects a failed fsync', async () => {
    const fixture = openStoreFixture();
    await write(fixture.store, 1, 10);
    fixture.fail('PRAGMA wal_checkpoint(PASSIVE)', 'SQLITE_IOERR_FSYNC');
    await fixture.store.close();
    expect(fixture.fatal).toHaveLength(1);
    expect(sizeOf(`${fixture.file}-wal`)).toBeGreaterThan(0);
    fixture.db.close();
  });
});

test('refuses to open a database when SQLite does not apply synchronous=FULL', () => {
  const { pragma } = Database.prototype;
  const spy = vi.spyOn(Database.prototype, 'pragma').mockImplementation(function (
    this: Database.Database,
    source: string,
    options?: Database.PragmaOptions,
  ) {
    return source.startsWith('synchronous = ') ? [] : pragma.call(this, source, options);
  });
  onTestFinished(() => spy.mockRestore());
  expect(() => openSqliteStore(newFile(), quietDeps())).toThrow('SQLite runs with synchronous=1, not FULL');
});
