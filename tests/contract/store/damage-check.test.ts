import Database from 'better-sqlite3';
import { copyFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkInThread } from '../../../main/store/backups/damage-check.ts';
import { newFile, overwriteBytes, sizeOf } from './bench.ts';

const neverAborted = (): AbortSignal => new AbortController().signal;

function writeCopy(): string {
  const file = newFile();
  const db = new Database(file);
  db.exec('CREATE TABLE rows (text TEXT NOT NULL); CREATE INDEX rows_text ON rows (text)');
  const insert = db.prepare('INSERT INTO rows (text) VALUES (?)');
  for (let n = 0; n < 2_000; n += 1) insert.run(`row ${n} `.repeat(10));
  db.close();
  return file;
}

test('finds no damage in an intact database, and describes the damage of a damaged database', async () => {
  const file = writeCopy();
  expect(await checkInThread(file, neverAborted())).toEqual({ value: null });
  const damaged = newFile();
  copyFileSync(file, damaged);
  overwriteBytes(damaged, sizeOf(damaged) - 8 * 4_096, Buffer.alloc(4 * 4_096, 0xff));
  expect(await checkInThread(damaged, neverAborted())).toEqual({ value: expect.stringMatching(/page|row/i) });
});

test("rejects with SQLite's error when the file to check is not a database", async () => {
  const file = newFile();
  writeFileSync(file, 'no database '.repeat(1_000));
  await expect(checkInThread(file, neverAborted())).rejects.toMatchObject({ code: 'SQLITE_NOTADB' });
});

test('stops the damage check when it is aborted', async () => {
  const controller = new AbortController();
  const checked = checkInThread(writeCopy(), controller.signal);
  controller.abort();
  await expect(checked).rejects.toThrow('aborted');
});
