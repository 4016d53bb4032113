/** Which files the store accepts, and which it considers damaged. In both cases, it changes nothing. */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { findDamage } from '../../../main/store/db/file-check.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { newFile, scribble, sizeOf } from './bench.ts';
import { makeJob, putWorkers, quietParts } from './builders.ts';

const pageBytes = 4_096;
const frameBytes = 24 + pageBytes;
const frameAt = (index: number): number => 32 + index * frameBytes;

/** The files in the same folder, with their content. */
const everythingIn = (file: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dirname(file)).map(name => [
      name,
      createHash('sha256')
        .update(readFileSync(join(dirname(file), name)))
        .digest('hex'),
    ]),
  );

/** Checks a file, and verifies that the check changed nothing. */
function look(file: string): string | null {
  const before = everythingIn(file);
  const damage = findDamage(file);
  expect(everythingIn(file)).toEqual(before);
  return damage;
}

const payload = (bytes: number) => ({ config: { text: 'x'.repeat(bytes) }, dataloader: null, files: {} });

/** Makes ten commits and keeps the files as they are after a kill, or after a close. */
async function makeDatabase(file: string, end: 'closed' | 'killed'): Promise<void> {
  const source = newFile();
  const store = openSqliteStore(source, quietParts());
  await putWorkers(store, 'w_1');
  for (let order = 1; order <= 9; order++) {
    await store.write(tx => tx.insertJob(makeJob(order), payload(9_000)));
  }
  if (end === 'closed') await store.close();
  copyFileSync(source, file);
  if (end === 'closed') return;
  copyFileSync(`${source}-wal`, `${file}-wal`);
  await store.close();
}

async function database(end: 'closed' | 'killed'): Promise<string> {
  const file = newFile();
  await makeDatabase(file, end);
  return file;
}

const jobsIn = (file: string): unknown => {
  const db = new Database(file);
  try {
    return db.prepare('SELECT count(*) FROM jobs').pluck().get();
  } finally {
    db.close();
  }
};

describe('taken as whole', () => {
  test('no file, and an empty one', () => {
    const file = newFile();
    expect(look(file)).toBeNull();
    writeFileSync(file, '');
    expect(look(file)).toBeNull();
  });

  test.each(['closed', 'killed'] as const)('a database whose process %s it', async end => {
    const file = await database(end);
    expect(look(file)).toBeNull();
    expect(jobsIn(file)).toBe(9);
  });

  test('a log whose beginning is new and whose rest is old', async () => {
    const source = newFile();
    const store = openSqliteStore(source, quietParts());
    for (let order = 1; order <= 30; order++) {
      await store.write(tx => tx.insertJob(makeJob(order), payload(9_000)));
      if (order !== 20) continue;
      const other = new Database(source);
      other.pragma('wal_checkpoint(PASSIVE)');
      other.close();
    }
    const file = newFile();
    copyFileSync(source, file);
    copyFileSync(`${source}-wal`, `${file}-wal`);
    await store.close();
    expect(look(file)).toBeNull();
    expect(jobsIn(file)).toBe(30);
  });

  test('a log that a power cut has left at any length', async () => {
    const whole = await database('killed');
    const bytes = readFileSync(`${whole}-wal`);
    const file = newFile();
    copyFileSync(whole, file);
    for (let length = 0; length < bytes.length; length += 1_777) {
      writeFileSync(`${file}-wal`, bytes.subarray(0, length));
      expect(look(file), `${length} bytes`).toBeNull();
    }
  });

  test('a log whose last transaction a power cut has left with a hole', async () => {
    const file = await database('killed');
    const frames = (sizeOf(`${file}-wal`) - 32) / frameBytes;
    scribble(`${file}-wal`, frameAt(frames - 2), Buffer.alloc(frameBytes));
    expect(look(file)).toBeNull();
    expect(jobsIn(file)).toBe(8);
  });

  test('a last page of which the log has the rest', async () => {
    const file = await database('killed');
    expect(sizeOf(file)).toBe(pageBytes);
    truncateSync(file, pageBytes - 1);
    expect(look(file)).toBeNull();
    expect(jobsIn(file)).toBe(9);
  });
});

describe('taken as damaged', () => {
  test('a database of which any page was overwritten', async () => {
    const whole = await database('closed');
    const file = newFile();
    for (let at = 0; at < sizeOf(whole); at += pageBytes) {
      copyFileSync(whole, file);
      scribble(file, at, Buffer.alloc(pageBytes, 0x5a));
      expect(look(file), `page at ${at}`).toMatch(at === 0 ? /^is not a database$/ : /^is damaged: ./);
    }
  });

  test.each([
    ['a byte', (size: number) => size - 1],
    ['a page', (size: number) => size - pageBytes],
    ['half of it', (size: number) => Math.floor(size / 2)],
    ['all but its header', () => 100],
  ])('a database that has lost %s', async (_what, keep) => {
    const file = await database('closed');
    truncateSync(file, keep(sizeOf(file)));
    expect(look(file)).toMatch(/^(is damaged: .|was cut off)/);
  });

  test.each([
    ['a byte', 1],
    ['a page', pageBytes],
  ])('a database that has lost %s, beside a log', async (_what, lost) => {
    const file = await database('closed');
    const store = openSqliteStore(file, quietParts());
    await putWorkers(store, 'w_2');
    const copy = newFile();
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    await store.close();
    expect(look(copy)).toBeNull();
    truncateSync(copy, sizeOf(copy) - lost);
    expect(look(copy)).toMatch(/^(is damaged: .|was cut off)/);
  });

  test('a database that is empty or gone while its log is not', async () => {
    const file = await database('killed');
    const copy = newFile();
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    expect(look(copy)).toBe('is missing, but its log (-wal) is there');
    truncateSync(file, 0);
    expect(look(file)).toBe('was cut off: it is empty, but its log (-wal) is not');
  });

  test.each([
    ['other bytes', Buffer.alloc(50_000, 7)],
    ['zeros', Buffer.alloc(50_000)],
  ])('a log that consists of %s', async (_what, bytes) => {
    const file = await database('killed');
    writeFileSync(`${file}-wal`, bytes);
    expect(look(file)).toBe('is damaged: its log (-wal) has no valid header');
  });

  test.each([
    ['its header', 20],
    ['the header of its first page', 32 + 10],
    ['its first page', 32 + 24 + 100],
    ['the page of a commit in the middle', frameAt(12) + 2_000],
  ])('a log in which a byte of %s has changed', async (_what, at) => {
    const file = await database('killed');
    const was = readFileSync(`${file}-wal`)[at] ?? 0;
    scribble(`${file}-wal`, at, Buffer.from([was ^ 1]));
    expect(look(file)).toMatch(/^is damaged: its log \(-wal\) (has no valid header|misses \d+ commits)$/);
  });

  test('a text', () => {
    const file = newFile();
    writeFileSync(file, 'this is no database, but a letter to my aunt\n'.repeat(200));
    expect(look(file)).toBe('is not a database');
    writeFileSync(file, 'short');
    expect(look(file)).toBe('is not a database');
  });
});

describe('not looked at any further', () => {
  test('a database of a later version', async () => {
    const file = await database('closed');
    const db = new Database(file);
    db.pragma('user_version = 99');
    db.close();
    const before = everythingIn(file);
    expect(() => findDamage(file)).toThrow(/schema 99, and this version knows \d+/);
    expect(everythingIn(file)).toEqual(before);
  });

  test('a backup that was put beside the log of another database', async () => {
    const killed = await database('killed');
    const backup = newFile();
    const store = openSqliteStore(newFile(), quietParts());
    await store.copyTo(backup, new AbortController().signal);
    await store.close();
    const copy = new Database(backup);
    copy.pragma('journal_mode = DELETE');
    copy.close();
    copyFileSync(`${killed}-wal`, `${backup}-wal`);
    const before = everythingIn(backup);
    expect(() => findDamage(backup)).toThrow(
      `the log ${backup}-wal belongs to another database than ${backup}`,
    );
    expect(everythingIn(backup)).toEqual(before);
    // An empty write-ahead log is harmless.
    truncateSync(`${backup}-wal`, 32);
    expect(look(backup)).toBeNull();
  });

  test('a folder', () => {
    const file = newFile();
    mkdirSync(file);
    expect(() => findDamage(file)).toThrow(`${file} cannot be opened`);
  });
});
