import { closeSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { diskFault, openFailure } from './disk-fault.ts';
import { schemaOf } from './migrations.ts';
import { checkWal } from './wal-check.ts';

/** What the names of the files end in that together are one database. */
export const companions = ['', '-wal', '-shm'] as const;

const magic = 'SQLite format 3\0';

/**
 * What is wrong with a database, in words that go on from "it"; null when it is whole, or when there is none. Nothing
 * of it is changed. Of one that is as it was left its pages are not looked through, which takes a second for each million of jobs.
 * Throws when it can not be looked at, and when a newer program has written it.
 */
export function findDamage(file: string, isAsLeft = false): string | null {
  const size = sizeOf(file);
  const walSize = sizeOf(`${file}-wal`) ?? 0;
  if (size === null) return walSize > 0 ? 'is missing, but its log (-wal) is there' : null;
  // SQLite would delete the log of an empty file without looking into it.
  if (size === 0) return walSize > 0 ? 'was cut off: it is empty, but its log (-wal) is not' : null;
  const { isDatabase, pageBytes, hasLog } = readHeader(file);
  if (!isDatabase) return 'is not a database';
  const wal = walSize > 0 ? checkWal(`${file}-wal`) : { damage: null, pages: new Set<number>() };
  if (wal.damage !== null) return `is damaged: ${wal.damage}`;
  // SQLite would mix the two: nothing in a log says of which file its pages are.
  if (!hasLog && wal.pages.size > 0) throw new Error(foreignLog(file));
  // SQLite fills a page that was cut off with zeros; only the log may have the rest of it.
  const lastPage = Math.ceil(size / pageBytes);
  if (size % pageBytes !== 0 && !wal.pages.has(lastPage)) return 'was cut off in the middle of a page';
  return isAsLeft ? null : quickCheck(file);
}

/**
 * SQLite's own check of every page's structure, on a connection that can not write: one that can would copy the log
 * into a damaged file as it closes. Throws like `findDamage`.
 */
export function quickCheck(file: string): string | null {
  const untouched = companions.map(suffix => file + suffix).filter(name => sizeOf(name) === null);
  const db = openToRead(file);
  try {
    schemaOf(db);
    const [found] = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().all();
    return found === 'ok' ? null : `is damaged: ${String(found).split('\n').at(-1)}`;
  } catch (cause) {
    // A file's very first write was cut off: taking that back needs the right to write.
    if (cause instanceof Database.SqliteError && cause.code === 'SQLITE_READONLY_ROLLBACK') return null;
    if (diskFault(cause) !== 'fatal') throw openFailure(cause, file);
    return `is damaged: ${cause instanceof Error ? cause.message : String(cause)}`;
  } finally {
    db.close();
    // What a reader of a file with a log needs, and leaves behind.
    for (const name of untouched) rmSync(name, { force: true });
  }
}

function openToRead(file: string): Database.Database {
  try {
    return new Database(file, { readonly: true });
  } catch (cause) {
    throw openFailure(cause, file);
  }
}

/** Null when there is none. */
export const sizeOf = (file: string): number | null =>
  statSync(file, { throwIfNoEntry: false })?.size ?? null;

/** A database that is worked with has a log; a backup has none, until it is first opened. */
const foreignLog = (file: string): string =>
  `the log ${file}-wal belongs to another database than ${file}, which is a backup. Nothing was changed: move ${file}-wal ` +
  `and ${file}-shm away, and start again`;

interface Header {
  readonly isDatabase: boolean;
  readonly pageBytes: number;
  readonly hasLog: boolean;
}

function readHeader(file: string): Header {
  const header = Buffer.alloc(20);
  const handle = open(file);
  try {
    readSync(handle, header, 0, header.length, 0);
  } catch (cause) {
    throw openFailure(cause, file);
  } finally {
    closeSync(handle);
  }
  // 1 stands for 65,536.
  const pageBytes = header.readUInt16BE(16);
  const isDatabase = header.toString('latin1', 0, 16) === magic && pageBytes > 0;
  // What a reader has to know: 1, a file alone; 2, a log beside it.
  const hasLog = header.readUInt8(19) === 2;
  return { isDatabase, pageBytes: pageBytes === 1 ? 65_536 : pageBytes, hasLog };
}

function open(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (cause) {
    throw openFailure(cause, file);
  }
}
