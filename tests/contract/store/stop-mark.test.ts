/** When a start checks the whole database, and when it trusts the mark of the last stop. */
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
import { createStopMark } from '../../../main/store/db/stop-mark.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { testSeal } from '../../support/seal.ts';
import { listingLog, newFile, scribble } from './bench.ts';
import { makeJob, put, putWorkers } from './builders.ts';

const checkQuery = 'PRAGMA quick_check(1)';

interface Opened extends DataStore {
  /** Whether the whole database was checked. */
  readonly isChecked: boolean;
}

function open(file: string): Opened {
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  const parts = { clock: createVirtualClock(), log: listingLog([]), seal: testSeal, onFatal: () => {} };
  try {
    const opened = openDataStore(file, parts);
    onTestFinished(() => opened.store.close());
    return { ...opened, isChecked: prepare.mock.calls.some(([sql]) => sql === checkQuery) };
  } finally {
    prepare.mockRestore();
  }
}

/** A database with a backup, in the state after an orderly stop. */
async function stopped(): Promise<string> {
  const file = newFile();
  const { store, backups } = open(file);
  await putWorkers(store, 'w_1');
  await backups.make('manual');
  await put(store, makeJob(1));
  await store.close();
  return file;
}

/** Rewrites the same bytes. */
const rewrite = (file: string): void => scribble(file, 0, readFileSync(file).subarray(0, 16));

/** Opens the store again after a failed backup. The next backup could succeed. */
async function afterFailedBackup(): Promise<
  Pick<DataStore, 'store' | 'backups'> & { readonly file: string }
> {
  const file = await stopped();
  const { store, backups } = open(file);
  const folder = join(dirname(file), 'backups');
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, 'in its place');
  await expect(backups.make('manual')).rejects.toThrow();
  rmSync(folder);
  renameSync(`${folder}.away`, folder);
  return { file, store, backups };
}

describe('a start', () => {
  test('does not look again through what an orderly stop has left', async () => {
    const { isChecked, restored, store } = open(await stopped());
    expect(isChecked).toBe(false);
    expect(restored).toBeNull();
    expect(store.jobCounts().pending).toBe(1);
  });

  test.each<[string, (file: string) => void]>([
    ['somebody has written to it', rewrite],
    [
      'it is a copy',
      file => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
    ],
    ['a log lies beside it', file => writeFileSync(`${file}-wal`, '')],
    ['the mark is gone', file => rmSync(`${file}-stopped`)],
    ['the mark is empty', file => writeFileSync(`${file}-stopped`, '')],
    [
      'the mark is no file',
      file => {
        rmSync(`${file}-stopped`);
        mkdirSync(`${file}-stopped`);
      },
    ],
  ])('looks through it when %s', async (_when, change) => {
    const file = await stopped();
    change(file);
    const { isChecked, store } = open(file);
    expect(isChecked).toBe(true);
    expect(store.jobCounts().pending).toBe(1);
  });

  test('finds damage that was done the moment after the stop', async () => {
    const file = await stopped();
    scribble(file, 4_096, Buffer.alloc(8_192, 0x5a));
    expect(open(file).restored?.damage).toContain('is damaged');
  });

  test('trusts a mark once: who starts after a crash looks', async () => {
    const file = await stopped();
    const mark = createStopMark(file);
    expect(mark.take()).toBe(true);
    expect(mark.take()).toBe(false);
    expect(existsSync(`${file}-stopped`)).toBe(false);
  });
});

describe('a stop', () => {
  test('leaves no mark beside a log that was not copied', async () => {
    const file = await stopped();
    createStopMark(file).take();
    writeFileSync(`${file}-wal`, 'what was not copied');
    createStopMark(file).leave();
    expect(existsSync(`${file}-stopped`)).toBe(false);
  });

  test('leaves none when the last backup could not be made', async () => {
    const file = await stopped();
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

  test('nor when a later one was cut off by the stop itself', async () => {
    const { file, store, backups } = await afterFailedBackup();
    const [later] = await Promise.allSettled([backups.make('manual'), store.close()]);
    expect(later.status).toBe('rejected');
    expect(open(file).isChecked).toBe(true);
  });

  test('but one when a later one could be made', async () => {
    const { file, store, backups } = await afterFailedBackup();
    await backups.make('manual');
    await store.close();
    expect(open(file).isChecked).toBe(false);
  });

  test('that can leave none is a stop all the same', async () => {
    const file = await stopped();
    const { store } = open(file);
    mkdirSync(`${file}-stopped`);
    await store.close();
    rmSync(`${file}-stopped`, { recursive: true });
    expect(open(file).isChecked).toBe(true);
  });
});
