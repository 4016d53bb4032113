import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type DataStore, openDataStore } from '../../../main/store/data-store.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { testSeal } from '../../support/seal.ts';
import { listingLog, newFile, overwriteBytes } from './bench.ts';
import { makeJob, put, putWorkers } from './builders.ts';
import { createStopMark } from '../../../main/store/db/file-check.ts';

// The stop mark is a file that an orderly stop leaves next to the database. With a valid stop mark, the next start skips
// the check of the whole database.

const checkQuery = 'PRAGMA quick_check(1)';

interface Opened extends DataStore {
  // True when the start checked the whole database.
  readonly isChecked: boolean;
}

function open(file: string): Opened {
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  const deps = { clock: createVirtualClock(), log: listingLog([]), seal: testSeal, onFatal: () => {} };
  try {
    const dataStore = openDataStore(file, deps);
    onTestFinished(() => dataStore.store.close());
    return { ...dataStore, isChecked: prepare.mock.calls.some(([sql]) => sql === checkQuery) };
  } finally {
    prepare.mockRestore();
  }
}

// Creates a database with a backup, as an orderly stop leaves it.
async function createStoppedDatabase(): Promise<string> {
  const file = newFile();
  const { store, backups } = open(file);
  await putWorkers(store, 'w_1');
  await backups.make('manual');
  await put(store, makeJob(1));
  await store.close();
  return file;
}

// Rewrites a file with the same bytes, which changes only its times.
const rewrite = (file: string): void => overwriteBytes(file, 0, readFileSync(file).subarray(0, 16));

// Opens a store whose last backup has failed.
async function afterFailedBackup(): Promise<
  Pick<DataStore, 'store' | 'backups'> & { readonly file: string }
> {
  const file = await createStoppedDatabase();
  const { store, backups } = open(file);
  const folder = join(dirname(file), 'backups');
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, 'in its place');
  await expect(backups.make('manual')).rejects.toThrow();
  rmSync(folder);
  renameSync(`${folder}.away`, folder);
  return { file, store, backups };
}

describe('check of the database at the start', () => {
  test('skips the check of the database after an orderly stop', async () => {
    const { isChecked, restored, store } = open(await createStoppedDatabase());
    expect(isChecked).toBe(false);
    expect(restored).toBeNull();
    expect(store.jobCounts().pending).toBe(1);
  });

  test.each<[string, (file: string) => void]>([
    ['another program wrote to the database', rewrite],
    [
      'the database is a copy',
      file => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
    ],
    ['a write-ahead log exists', file => writeFileSync(`${file}-wal`, '')],
    ['the stop mark is missing', file => rmSync(`${file}-stopped`)],
    ['the stop mark is empty', file => writeFileSync(`${file}-stopped`, '')],
    [
      'the stop mark is a folder',
      file => {
        rmSync(`${file}-stopped`);
        mkdirSync(`${file}-stopped`);
      },
    ],
  ])('checks the database when %s', async (_when, change) => {
    const file = await createStoppedDatabase();
    change(file);
    const { isChecked, store } = open(file);
    expect(isChecked).toBe(true);
    expect(store.jobCounts().pending).toBe(1);
  });

  test('detects damage that happened right after the stop', async () => {
    const file = await createStoppedDatabase();
    overwriteBytes(file, 4_096, Buffer.alloc(8_192, 0x5a));
    expect(open(file).restored?.damage).toContain('is damaged');
  });

  test('accepts a stop mark only once, so that the start after a crash checks the database', async () => {
    const file = await createStoppedDatabase();
    const mark = createStopMark(file);
    expect(mark.take()).toBe(true);
    expect(mark.take()).toBe(false);
    expect(existsSync(`${file}-stopped`)).toBe(false);
  });
});

describe('mark of an orderly stop', () => {
  test('writes no stop mark while a write-ahead log remains', async () => {
    const file = await createStoppedDatabase();
    createStopMark(file).take();
    writeFileSync(`${file}-wal`, 'what was not copied');
    createStopMark(file).leave();
    expect(existsSync(`${file}-stopped`)).toBe(false);
  });

  test('writes no stop mark when the last backup failed', async () => {
    const file = await createStoppedDatabase();
    const { store, backups } = open(file);
    const folder = join(dirname(file), 'backups');
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'in its place');
    await expect(backups.make('manual')).rejects.toThrow();
    await store.close();
    expect(existsSync(`${file}-stopped`)).toBe(false);
    rmSync(folder);
    expect(open(file).isChecked).toBe(true);
  });

  test('writes no stop mark when the stop interrupts the backup after a failed backup', async () => {
    const { file, store, backups } = await afterFailedBackup();
    const [secondBackup] = await Promise.allSettled([backups.make('manual'), store.close()]);
    expect(secondBackup.status).toBe('rejected');
    expect(open(file).isChecked).toBe(true);
  });

  test('writes a stop mark when a backup succeeds after a failed backup', async () => {
    const { file, store, backups } = await afterFailedBackup();
    await backups.make('manual');
    await store.close();
    expect(open(file).isChecked).toBe(false);
  });

  test('closes the store when no stop mark can be written', async () => {
    const file = await createStoppedDatabase();
    const { store } = open(file);
    mkdirSync(`${file}-stopped`);
    await store.close();
    rmSync(`${file}-stopped`, { recursive: true });
    expect(open(file).isChecked).toBe(true);
  });
});
