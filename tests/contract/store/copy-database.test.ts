import { readdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { copyDatabase, copyInThread } from '../../../main/store/db/copy-database.ts';
import { newFile } from './bench.ts';

const neverAborted = (): AbortSignal => new AbortController().signal;

/** Opens a database in WAL mode with rows of 3,000 bytes. */
function openRows(count: number) {
  const db = new Database(newFile());
  onTestFinished(() => void db.close());
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  const insert = db.prepare('INSERT INTO rows (content) VALUES (zeroblob(3000))');
  db.transaction(() => {
    for (let n = 0; n < count; n += 1) insert.run();
  })();
  db.pragma('wal_checkpoint(TRUNCATE)');
  return { db, insert: () => void insert.run() };
}

function newTarget(): string {
  const file = newFile();
  writeFileSync(file, '');
  return file;
}

function readCopy(file: string) {
  const db = new Database(file, { readonly: true });
  const rows = db.prepare<[], number>('SELECT count(*) FROM rows').pluck().get();
  const check = db.pragma('quick_check', { simple: true });
  db.close();
  return { rows, check };
}

test('copies a large database that changes during the copy', async () => {
  const { db, insert } = openRows(30_000);
  const target = newTarget();
  let isOver = false;
  const copied = copyDatabase(db, target, neverAborted()).finally(() => {
    isOver = true;
  });
  let written = 0;
  while (!isOver) {
    insert();
    written += 1;
    await new Promise(setImmediate);
  }
  await copied;
  expect(written).toBeGreaterThan(10);
  const { rows = 0, check } = readCopy(target);
  expect(check).toBe('ok');
  // The copy is consistent: it has the state of the database at one moment during the copying.
  expect(rows).toBeGreaterThanOrEqual(30_000);
  expect(rows).toBeLessThanOrEqual(30_000 + written);
});

test('ends an aborted copy of a database, and leaves the database usable', async () => {
  const { db, insert } = openRows(10_000);
  const controller = new AbortController();
  const copied = copyInThread(db.name, newTarget(), controller.signal);
  controller.abort();
  await expect(copied).rejects.toThrow('aborted');
  insert();
  expect(db.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]);
});

test("rejects with SQLite's error when the database to copy is missing, and creates no file", async () => {
  const missing = `${newFile()}-missing`;
  await expect(copyInThread(missing, newTarget(), neverAborted())).rejects.toMatchObject({
    code: 'SQLITE_CANTOPEN',
  });
  expect(readdirSync(dirname(missing)).filter(name => name.includes('missing'))).toEqual([]);
});
