// Tests what only a store in a file guarantees: private modes, durability, and errors for unusable files.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../../main/orchestrator/ports/index.ts';
import { StorageError } from '../../../main/store/db/group-commit.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { modesIn, newFile, openStoreFixture } from './bench.ts';
import {
  asLive,
  at,
  emptyPayload,
  jobId,
  makeJob,
  makeWorker,
  put,
  putWorkers,
  quietDeps,
  workerId,
} from './builders.ts';

const isWindows = process.platform === 'win32';

function open(file: string): Store {
  const store = openSqliteStore(file, quietDeps());
  onTestFinished(() => store.close());
  return store;
}

test.skipIf(isWindows)('creates database, WAL and shared memory readable only by their owner', async () => {
  const folder = openFolder();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  await putWorkers(open(join(folder, 'trainyard.db')), 'w_1');
  expect(modesIn(folder)).toEqual({
    'trainyard.db': '600',
    'trainyard.db-shm': '600',
    'trainyard.db-wal': '600',
  });
});

test.skipIf(isWindows)('restricts the mode of a file that others could read', async () => {
  const folder = openFolder();
  const file = join(folder, 'trainyard.db');
  await openSqliteStore(file, quietDeps()).close();
  chmodSync(file, 0o644);
  await putWorkers(open(file), 'w_1');
  expect(modesIn(folder)).toEqual({
    'trainyard.db': '600',
    'trainyard.db-shm': '600',
    'trainyard.db-wal': '600',
  });
});

test('commits with WAL and synchronous=FULL, also after the first write', async () => {
  const { store, db } = openStoreFixture();
  await putWorkers(store, 'w_1');
  expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
  expect(db.pragma('synchronous', { simple: true })).toBe(2);
  expect(db.pragma('foreign_keys', { simple: true })).toBe(1);
  if (process.platform === 'darwin') expect(db.pragma('fullfsync', { simple: true })).toBe(1);
});

test('keeps WAL mode in the file for other programs', async () => {
  const file = newFile();
  await openSqliteStore(file, quietDeps()).close();
  const otherConnection = new Database(file, { readonly: true });
  expect(otherConnection.pragma('journal_mode', { simple: true })).toBe('wal');
  otherConnection.close();
});

test('answers a write only after other connections can see the change', async () => {
  const file = newFile();
  const store = open(file);
  const otherConnection = new Database(file, { readonly: true });
  onTestFinished(() => void otherConnection.close());
  const count = (): unknown => otherConnection.prepare('SELECT count(*) FROM workers').pluck().get();
  const counts: unknown[] = [];
  const written = store.write(tx => {
    tx.insertWorker(makeWorker(), 'hash');
    tx.afterCommit(() => counts.push(count()));
    counts.push(count());
  });
  expect(count()).toBe(0);
  await written;
  expect(counts).toEqual([0, 1]);
});

test('returns the same data after the file is reopened', async () => {
  const file = newFile();
  const first = open(file);
  const [running, waiting] = [asLive(makeJob(1), 'running', { startedAt: at(2) }), makeJob(2)];
  await putWorkers(first, 'w_1', 'w_2');
  await put(first, makeJob(1), running);
  await put(first, waiting);
  await first.write(tx => {
    tx.removeWorker(workerId('w_2'));
    tx.setTokenHash(workerId('w_1'), 'new', false);
    tx.setProgress(running.id, { step: 3 });
    tx.appendEvent({ kind: 'worker', type: 'worker.back', workerId: workerId('w_1') }, at(3));
  });
  await first.close();
  const reopened = open(file);
  expect(reopened.workers()).toEqual([makeWorker()]);
  expect(reopened.workerByTokenHash('new')?.id).toBe('w_1');
  expect(reopened.liveJobs()).toEqual([{ ...running, progress: { step: 3 } }]);
  expect(reopened.pendingJobs()).toEqual([waiting]);
  expect(reopened.payload(jobId('j_1'))).toEqual(emptyPayload);
  expect(reopened.eventsAfter(0, 9)).toMatchObject([{ seq: 1, type: 'worker.back' }]);
  expect(await reopened.write(tx => tx.nextJobOrder())).toBe(3);
});

test('continues the event numbers even when every event was removed', async () => {
  const file = newFile();
  const append = (store: Store) =>
    store.write(
      tx => tx.appendEvent({ kind: 'worker', type: 'worker.back', workerId: workerId('w_1') }, at(1)).seq,
    );
  const first = open(file);
  expect([await append(first), await append(first)]).toEqual([1, 2]);
  await first.close();
  const otherConnection = new Database(file);
  otherConnection.exec('DELETE FROM events');
  otherConnection.close();
  expect(await append(open(file))).toBe(3);
});

test('keeps an answered write after kill -9', { timeout: 20_000 }, async () => {
  const file = newFile();
  const writer = spawn(
    process.execPath,
    [fileURLToPath(new URL('./store-writer.ts', import.meta.url)), file],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => void writer.kill('SIGKILL'));
  const [output] = (await once(writer.stdout, 'data')) as [Buffer];
  expect(output.toString()).toBe('stored\n');
  writer.kill('SIGKILL');
  const [, signal] = (await once(writer, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  expect(open(file).workers()).toEqual([makeWorker({ name: 'survivor' })]);
});

test('refuses writes that do not fit on a full disk, and works afterwards', async () => {
  const { store, db, clock } = openStoreFixture();
  await putWorkers(store, 'w_1');
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true }))}`);
  const largePayload = { config: { text: 'x'.repeat(200_000) }, dataloader: null, files: {} };
  let effects = 0;
  const results = await Promise.allSettled([
    store.write(tx => tx.nextJobOrder()),
    store.write(tx => {
      tx.insertJob(makeJob(1), largePayload);
      tx.afterCommit(() => effects++);
    }),
    store.write(tx => tx.nextJobOrder()),
  ]);
  // SQLite rolls back the whole transaction and not just the failing statement.
  for (const result of results) {
    expect(result).toMatchObject({
      reason: expect.any(StorageError),
    });
    expect(result).toMatchObject({ reason: { cause: { message: 'database or disk is full' } } });
  }
  expect([effects, store.pendingJobs(), store.workers().length]).toEqual([0, [], 1]);
  db.pragma('max_page_count = 1000000');
  await clock.advance(5_000);
  await store.write(tx => tx.insertJob(makeJob(2), largePayload));
  expect(store.pendingJobs()).toEqual([makeJob(2)]);
});

test('rolls back all commands of a transaction when its commit fails', async () => {
  const { store, db } = openStoreFixture();
  await putWorkers(store, 'w_1');
  let effects = 0;
  let rollbacks = 0;
  const job = makeJob(1);
  const results = await Promise.allSettled([
    store.write(tx => {
      // A violated deferred constraint fails only at the commit, like some errors of the disk.
      db.pragma('defer_foreign_keys = ON');
      tx.insertJob(job, emptyPayload);
      tx.replaceJob(job, asLive(job, 'dispatched', { workerId: workerId('w_none') }));
      tx.afterCommit(() => effects++);
      tx.afterRollback(() => rollbacks++);
    }),
    put(store, makeJob(2)),
  ]);
  for (const result of results) {
    expect(result).toMatchObject({ reason: expect.any(StorageError) });
  }
  expect([effects, rollbacks, store.pendingJobs(), store.liveJobs()]).toEqual([0, 1, [], []]);
  await put(store, makeJob(3));
  expect(store.pendingJobs()).toEqual([makeJob(3)]);
});

test('refuses a file with a future schema and leaves it unchanged', async () => {
  const file = newFile();
  await openSqliteStore(file, quietDeps()).close();
  const newerDatabase = new Database(file);
  newerDatabase.pragma('user_version = 99');
  newerDatabase.exec('CREATE TABLE of_the_future (a)');
  newerDatabase.close();
  expect(() => openSqliteStore(file, quietDeps())).toThrow(
    /schema 99, and this version knows \d+: start the newer version again, or use another --data-dir/,
  );
  const unchanged = new Database(file, { readonly: true });
  expect(unchanged.pragma('user_version', { simple: true })).toBe(99);
  expect(unchanged.prepare('SELECT count(*) FROM of_the_future').pluck().get()).toBe(0);
  unchanged.close();
});

test.each([
  ['a text file', Buffer.from('this is no database, but a letter to my aunt\n'.repeat(200))],
  ['a database with an overwritten header', Buffer.concat([Buffer.alloc(100, 0xff), Buffer.alloc(8_092)])],
])('refuses %s with an error that names the file, and leaves the file unchanged', (_what, bytes) => {
  const file = newFile();
  writeFileSync(file, bytes);
  expect(() => openSqliteStore(file, quietDeps())).toThrow(
    `${file} is not a database: move it out of the way, or use another --data-dir`,
  );
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

test('treats an empty file as a new database', async () => {
  const file = newFile();
  writeFileSync(file, '');
  const store = open(file);
  await putWorkers(store, 'w_1');
  expect(store.workers()).toEqual([makeWorker()]);
});

test('refuses a path where no file can exist, with an error that names the path', () => {
  const folder = openFolder();
  for (const file of [folder, join(folder, 'none', 'trainyard.db')]) {
    expect(() => openSqliteStore(file, quietDeps())).toThrow(file);
  }
});
