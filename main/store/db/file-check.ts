import {
  closeSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import Database from 'better-sqlite3';
import { schemaOf } from './migrations.ts';
import { diskFault, openFailure } from './disk-state.ts';
import { checkWal } from './write-ahead-log.ts';

/** Suffixes of the files that form one database. */
export const companions = ['', '-wal', '-shm'] as const;

const magic = 'SQLite format 3\0';

/**
 * Returns the damage to a database, as a phrase that continues "the database"; null when it is intact or missing. Changes
 * nothing. Skips the check of all pages when `isUnchanged` since an orderly stop, because that check takes a second per million
 * jobs. Throws when the file cannot be read, or when a newer program wrote it.
 */
export function findDamage(file: string, isUnchanged = false): string | null {
  const size = sizeOf(file);
  const walSize = sizeOf(`${file}-wal`) ?? 0;
  if (size === null) return walSize > 0 ? 'is missing, but its log (-wal) is there' : null;
  // SQLite would delete the log of an empty file without reading it.
  if (size === 0) return walSize > 0 ? 'was cut off: it is empty, but its log (-wal) is not' : null;
  const { isDatabase, pageBytes, hasLog } = readHeader(file);
  if (!isDatabase) return 'is not a database';
  const wal = walSize > 0 ? checkWal(`${file}-wal`) : { damage: null, pages: new Set<number>() };
  if (wal.damage !== null) return `is damaged: ${wal.damage}`;
  // A log does not identify its database, so SQLite would write these pages to the wrong database.
  if (!hasLog && wal.pages.size > 0) throw new Error(foreignLog(file));
  // SQLite pads a truncated page with zeros. No data is lost if the log has the whole page.
  const lastPage = Math.ceil(size / pageBytes);
  if (size % pageBytes !== 0 && !wal.pages.has(lastPage)) return 'was cut off in the middle of a page';
  return isUnchanged ? null : quickCheck(file);
}

/**
 * Runs SQLite's structure check of every page. Returns and throws like `findDamage`. Uses a read-only connection, because a
 * writable one would copy the log into a damaged file on closing.
 */
export function quickCheck(file: string): string | null {
  const absent = companions.map(suffix => file + suffix).filter(name => sizeOf(name) === null);
  const db = openToRead(file);
  try {
    schemaOf(db);
    const [result] = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().all();
    return result === 'ok' ? null : `is damaged: ${String(result).split('\n').at(-1)}`;
  } catch (cause) {
    // The first write to a new file was interrupted. Only a writable connection can roll it back.
    if (cause instanceof Database.SqliteError && cause.code === 'SQLITE_READONLY_ROLLBACK') return null;
    if (diskFault(cause) !== 'fatal') throw openFailure(cause, file);
    return `is damaged: ${cause instanceof Error ? cause.message : String(cause)}`;
  } finally {
    db.close();
    // Removes the -wal and -shm files that a reader of a WAL database creates.
    for (const name of absent) rmSync(name, { force: true });
  }
}

function openToRead(file: string): Database.Database {
  try {
    return new Database(file, { readonly: true });
  } catch (cause) {
    throw openFailure(cause, file);
  }
}

/** Returns null when the file does not exist. */
export const sizeOf = (file: string): number | null =>
  statSync(file, { throwIfNoEntry: false })?.size ?? null;

/**
 * The message for a log beside a file that is not in WAL mode. The file must be a backup, because opening a database sets WAL
 * mode.
 */
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
  // The value 1 represents 65,536.
  const pageBytes = header.readUInt16BE(16);
  const isDatabase = header.toString('latin1', 0, 16) === magic && pageBytes > 0;
  // Read format version: 1 for a rollback journal, 2 for WAL.
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

/**
 * A file that an orderly stop leaves beside the database. The file tells the next start that the database is unchanged, so a full
 * check is unnecessary (docs/adr/0023).
 */
interface StopMark {
  /** Removes the mark. Returns whether the database is unchanged since the mark was written. */
  take(): boolean;
  /**
   * Writes the mark. Call it after closing the database. Does nothing when the log still exists, because the database was then
   * not closed properly.
   */
  leave(): void;
}

export function createStopMark(file: string): StopMark {
  const mark = `${file}-stopped`;
  return {
    take() {
      try {
        const stored = readFileSync(mark, 'utf8');
        rmSync(mark);
        return stored === fingerprintOf(file) && sizeOf(`${file}-wal`) === null;
      } catch {
        return false;
      }
    },
    leave() {
      if (sizeOf(`${file}-wal`) !== null) return;
      try {
        roundModifiedTime(file);
        writeFileSync(mark, fingerprintOf(file), { mode: 0o600 });
      } catch {
        // Without a mark, the next start checks the whole file, as after a crash.
      }
    },
  };
}

/**
 * File times have a resolution of some milliseconds, so a change right after the stop could keep the same time. Rounds the time
 * down to a whole second to make such a change visible.
 */
function roundModifiedTime(file: string): void {
  const { atime, mtimeMs } = statSync(file);
  utimesSync(file, atime, Math.floor(mtimeMs / 1_000));
}

/** Any change to a file also changes one of these values, because programs cannot set ctime. */
function fingerprintOf(file: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}
