import Database from 'better-sqlite3';

/**
 * `refusing`: nothing was stored, and it may pass (full, I/O error, write protection). `fatal`: nobody knows any more
 * what the disk holds (https://www.sqlite.org/rescode.html). A lock that somebody else holds is no fault of the disk.
 */
export type DiskFault = 'refusing' | 'fatal';

const fatal = /^SQLITE_(IOERR_(FSYNC|DIR_FSYNC|CORRUPTFS|DATA)$|READONLY_DBMOVED$|CORRUPT|NOTADB)/;
const refusing = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/;

/** The file has gone from under its database: what is stored now is lost with the process. SQLite itself never looks. */
export const movedAway = (file: string): Error =>
  new Database.SqliteError(`${file} was deleted, moved or replaced while in use`, 'SQLITE_READONLY_DBMOVED');

/** What an error says about the disk; null when it has another reason. */
export function diskFault(cause: unknown): DiskFault | null {
  if (!(cause instanceof Database.SqliteError)) return null;
  if (fatal.test(cause.code)) return 'fatal';
  return refusing.test(cause.code) ? 'refusing' : null;
}

const fullDisk = /^(SQLITE_FULL|ENOSPC|EDQUOT)/;

/** Whether an error of SQLite or of the file system says that the disk, or the user's quota, is full. */
export const isDiskFull = (cause: unknown): boolean => fullDisk.test(codeOf(cause));

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : '';

/** Describes why a file could not be opened, and what to do. */
export function openFailure(cause: unknown, file: string): Error {
  const code = codeOf(cause);
  const because = reasons.find(([pattern]) => pattern.test(code));
  if (because === undefined) return cause instanceof Error ? cause : new Error(String(cause));
  return new Error(`${file} ${because[1]}`, { cause });
}

const reasons: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_NOTADB/, 'is not a database: move it out of the way, or use another --data-dir'],
  [/^SQLITE_CORRUPT/, 'is damaged: put a backup in its place, or use another --data-dir'],
  [
    /^(SQLITE_READONLY|EROFS|EACCES|EPERM)/,
    'cannot be written: give its owner the right to write to it and to its folder, or use another --data-dir',
  ],
  [fullDisk, 'does not fit on its disk, which is full: make room, and start again'],
  [/^SQLITE_BUSY/, 'is locked by another program: close what works on it, and start again'],
  [
    /^(SQLITE_CANTOPEN|EISDIR|ENOTDIR|ENOENT)/,
    'cannot be opened: it and its folder must be there, and may be written by their owner',
  ],
  [/^(SQLITE_IOERR|EIO)/, 'cannot be read or written, because its disk fails: look at the system log'],
];
