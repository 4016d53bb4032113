// Each test also verifies that the check changes no file.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { findDamage } from '../../../main/store/db/file-check.ts';
import { openSqliteStore } from '../../../main/store/sqlite-store.ts';
import { newFile, overwriteBytes, sizeOf } from './bench.ts';
import { makeJob, putWorkers, quietDeps } from './builders.ts';

const pageBytes = 4_096;
// A write-ahead log has a header of 32 bytes, followed by frames. Each frame has a header of 24 bytes and a page.
const frameBytes = 24 + pageBytes;
const frameAt = (index: number): number => 32 + index * frameBytes;

// Returns the SHA-256 of each file in the folder of the database, by file name.
const hashFiles = (file: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dirname(file)).map(name => [
      name,
      createHash('sha256')
        .update(readFileSync(join(dirname(file), name)))
        .digest('hex'),
    ]),
  );

// Checks a database file, and expects that all files stay unchanged.
function check(file: string): string | null {
  const before = hashFiles(file);
  const damage = findDamage(file);
  expect(hashFiles(file)).toEqual(before);
  return damage;
}

const payload = (bytes: number) => ({ config: { text: 'x'.repeat(bytes) }, dataloader: null, files: {} });

// Creates a database with ten commits, in the state after a kill or after an orderly close.
async function makeDatabase(file: string, end: 'closed' | 'killed'): Promise<void> {
  const source = newFile();
  const store = openSqliteStore(source, quietDeps());
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

describe('findDamage on intact files', () => {
  test('accepts a missing and an empty file', () => {
    const file = newFile();
    expect(check(file)).toBeNull();
    writeFileSync(file, '');
    expect(check(file)).toBeNull();
  });

  test.each(['closed', 'killed'] as const)(
    'accepts the intact database of a store that was %s',
    async end => {
      const file = await database(end);
      expect(check(file)).toBeNull();
      expect(jobsIn(file)).toBe(9);
    },
  );

  test('accepts a write-ahead log that starts with new frames and ends with old frames', async () => {
    const source = newFile();
    const store = openSqliteStore(source, quietDeps());
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
    expect(check(file)).toBeNull();
    expect(jobsIn(file)).toBe(30);
  });

  test('accepts a write-ahead log that a power cut truncated at any length', async () => {
    const intact = await database('killed');
    const bytes = readFileSync(`${intact}-wal`);
    const file = newFile();
    copyFileSync(intact, file);
    // The step is no multiple of the frame size, so the log also ends within frames.
    for (let length = 0; length < bytes.length; length += 1_777) {
      writeFileSync(`${file}-wal`, bytes.subarray(0, length));
      expect(check(file), `${length} bytes`).toBeNull();
    }
  });

  test('accepts a write-ahead log with a hole in its last transaction after a power cut', async () => {
    const file = await database('killed');
    const frames = (sizeOf(`${file}-wal`) - 32) / frameBytes;
    overwriteBytes(`${file}-wal`, frameAt(frames - 2), Buffer.alloc(frameBytes));
    expect(check(file)).toBeNull();
    expect(jobsIn(file)).toBe(8);
  });

  test('accepts a truncated last page that the write-ahead log contains', async () => {
    const file = await database('killed');
    expect(sizeOf(file)).toBe(pageBytes);
    truncateSync(file, pageBytes - 1);
    expect(check(file)).toBeNull();
    expect(jobsIn(file)).toBe(9);
  });
});

describe('findDamage on damaged files', () => {
  test('detects an overwritten page anywhere in the database', async () => {
    const intact = await database('closed');
    const file = newFile();
    for (let offset = 0; offset < sizeOf(intact); offset += pageBytes) {
      copyFileSync(intact, file);
      overwriteBytes(file, offset, Buffer.alloc(pageBytes, 0x5a));
      expect(check(file), `page at ${offset}`).toMatch(
        offset === 0 ? /^is not a database$/ : /^is damaged: ./,
      );
    }
  });

  test.each([
    ['a byte', (size: number) => size - 1],
    ['a page', (size: number) => size - pageBytes],
    ['half of its bytes', (size: number) => Math.floor(size / 2)],
    ['all but its header', () => 100],
  ])('detects a database that lost %s', async (_what, newSize) => {
    const file = await database('closed');
    truncateSync(file, newSize(sizeOf(file)));
    expect(check(file)).toMatch(/^(is damaged: .|was cut off)/);
  });

  test.each([
    ['a byte', 1],
    ['a page', pageBytes],
  ])('detects that a database with a write-ahead log lost %s', async (_what, lostBytes) => {
    const file = await database('closed');
    const store = openSqliteStore(file, quietDeps());
    await putWorkers(store, 'w_2');
    const copy = newFile();
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    await store.close();
    expect(check(copy)).toBeNull();
    truncateSync(copy, sizeOf(copy) - lostBytes);
    expect(check(copy)).toMatch(/^(is damaged: .|was cut off)/);
  });

  test('detects a database that is empty or missing while its write-ahead log is not', async () => {
    const file = await database('killed');
    const copy = newFile();
    copyFileSync(`${file}-wal`, `${copy}-wal`);
    expect(check(copy)).toBe('is missing, but its log (-wal) is there');
    truncateSync(file, 0);
    expect(check(file)).toBe('was cut off: it is empty, but its log (-wal) is not');
  });

  test.each([
    ['other bytes', Buffer.alloc(50_000, 7)],
    ['zeros', Buffer.alloc(50_000)],
  ])('detects a write-ahead log that consists of %s', async (_what, bytes) => {
    const file = await database('killed');
    writeFileSync(`${file}-wal`, bytes);
    expect(check(file)).toBe('is damaged: its log (-wal) has no valid header');
  });

  test.each([
    ['its header', 20],
    ['the header of its first page', 32 + 10],
    ['its first page', 32 + 24 + 100],
    ['the page of a commit in the middle', frameAt(12) + 2_000],
  ])('detects a write-ahead log with a changed byte in %s', async (_what, offset) => {
    const file = await database('killed');
    const originalByte = readFileSync(`${file}-wal`)[offset] ?? 0;
    overwriteBytes(`${file}-wal`, offset, Buffer.from([originalByte ^ 1]));
    expect(check(file)).toMatch(/^is damaged: its log \(-wal\) (has no valid header|misses \d+ commits)$/);
  });

  test('detects a text file in place of a database', () => {
    const file = newFile();
    writeFileSync(file, 'this is no database, but a letter to my aunt\n'.repeat(200));
    expect(check(file)).toBe('is not a database');
    writeFileSync(file, 'short');
    expect(check(file)).toBe('is not a database');
  });
});

describe('findDamage on files that it cannot judge', () => {
  test('refuses to check a database of a later version', async () => {
    const file = await database('closed');
    const db = new Database(file);
    db.pragma('user_version = 99');
    db.close();
    const before = hashFiles(file);
    expect(() => findDamage(file)).toThrow(/schema 99, and this version knows \d+/);
    expect(hashFiles(file)).toEqual(before);
  });

  test('refuses to check a backup next to the write-ahead log of another database', async () => {
    const killed = await database('killed');
    const backup = newFile();
    const store = openSqliteStore(newFile(), quietDeps());
    await store.copyTo(backup, new AbortController().signal);
    await store.close();
    const copy = new Database(backup);
    copy.pragma('journal_mode = DELETE');
    copy.close();
    copyFileSync(`${killed}-wal`, `${backup}-wal`);
    const before = hashFiles(backup);
    expect(() => findDamage(backup)).toThrow(
      `the log ${backup}-wal belongs to another database than ${backup}`,
    );
    expect(hashFiles(backup)).toEqual(before);
    // An empty write-ahead log is harmless.
    truncateSync(`${backup}-wal`, 32);
    expect(check(backup)).toBeNull();
  });

  test('refuses to check a folder in place of a database', () => {
    const file = newFile();
    mkdirSync(file);
    expect(() => findDamage(file)).toThrow(`${file} cannot be opened`);
  });
});
