import Database from 'better-sqlite3';
import type { Clock, Log } from '../../orchestrator/ports/index.ts';

/**
 * `refusing`: nothing was stored, and the cause may pass (full disk, I/O error, write protection). `fatal`: the state on disk is
 * unknown (https://www.sqlite.org/rescode.html). A lock held by another program is not a disk fault.
 */
type DiskFault = 'refusing' | 'fatal';

const fatal = /^SQLITE_(IOERR_(FSYNC|DIR_FSYNC|CORRUPTFS|DATA)$|READONLY_DBMOVED$|CORRUPT|NOTADB)/;
const refusing = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN)/;

/**
 * Returns the error for a file that was removed or replaced while the database was open. Later changes would be lost when the
 * process exits. SQLite does not detect this.
 */
export const movedAway = (file: string): Error =>
  new Database.SqliteError(`${file} was deleted, moved or replaced while in use`, 'SQLITE_READONLY_DBMOVED');

/** Classifies an error; null when the disk is not the cause. */
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

/** Returns an error that explains why a file could not be opened, and what to do. Returns an unknown error unchanged. */
export function openFailure(cause: unknown, file: string): Error {
  const code = codeOf(cause);
  const reason = reasons.find(([pattern]) => pattern.test(code));
  if (reason === undefined) return cause instanceof Error ? cause : new Error(String(cause));
  return new Error(`${file} ${reason[1]}`, { cause });
}

const reasons: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_NOTADB/, 'is not a database: move it out of the way, or use another --data-dir'],
  [/^SQLITE_CORRUPT/, 'is damaged: put a backup in its place, or use another --data-dir'],
  [
    /^(SQLITE_READONLY|EROFS|EACCES|EPERM)/,
    'cannot be written: give its owner the right to write to it and to its folder, or use another --data-dir',
  ],
  [fullDisk, 'does not fit on its disk, which is full: make room, and start again'],
  [/^SQLITE_BUSY/, 'is locked by another program: close that program, and start again'],
  [
    /^(SQLITE_CANTOPEN|EISDIR|ENOTDIR|ENOENT)/,
    'cannot be opened: it and its folder must exist, and their owner must be allowed to write to them',
  ],
  [/^(SQLITE_IOERR|EIO)/, 'cannot be read or written, because its disk fails: check the system log'],
];

/** The pause before each probe after the disk rejected a change. A failed probe takes 0.1 ms. */
const probeEveryMs = 500;

/**
 *     working --- disk full, I/O error ---> refusing
 *     working <-- a probe succeeds -------- refusing
 *     either  --- fsync failed, damage ---> dead
 *
 * In `refusing`, reads still work. `dead` is final: the process has to exit.
 */
export interface DiskState {
  readonly now: () => 'working' | 'refusing' | 'dead';
  /** The error that caused the switch to `refusing`. */
  readonly cause: () => unknown;
  /** Changes the state if the error is a disk fault. Returns the kind of fault, or null. */
  note(cause: unknown): DiskFault | null;
  /** Registers a function that runs on each switch from `refusing` to `working`. */
  onRecovery(run: () => void): void;
  /** Stops probing. */
  stop(): void;
}

export interface DiskStateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Writes and syncs like a change; throws when that fails. */
  readonly probe: () => void;
  /** Called once. The process must then exit without responding to any request. */
  readonly onFatal: (cause: unknown) => void;
}

export function createDiskState({ clock, log, probe, onFatal }: DiskStateDeps): DiskState {
  let state: 'working' | 'refusing' | 'dead' = 'working';
  let refusedBecause: unknown = null;
  let refusedAt = 0;
  let cancelProbe = (): void => {};
  const listeners: (() => void)[] = [];

  const probeLater = (): void => {
    cancelProbe = clock.after(probeEveryMs, retryDisk);
  };

  const retryDisk = (): void => {
    try {
      probe();
    } catch (cause) {
      if (diskFault(cause) === 'fatal') die(cause);
      else probeLater();
      return;
    }
    state = 'working';
    log.warn('store.recovered', { refusedForMs: Math.round(clock.mono() - refusedAt) });
    for (const run of listeners) {
      try {
        run();
      } catch (cause) {
        log.error('store.recovery_listener_failed', { cause });
      }
    }
  };

  const refuse = (cause: unknown): void => {
    if (state !== 'working') return;
    state = 'refusing';
    refusedBecause = cause;
    refusedAt = clock.mono();
    log.error('store.refusing', {
      cause,
      note: 'The orchestrator refuses changes, and tries the disk again every 0.5 s: check whether it is full or failing',
    });
    probeLater();
  };

  const die = (cause: unknown): void => {
    if (state === 'dead') return;
    state = 'dead';
    cancelProbe();
    log.error('store.fatal', {
      cause,
      note: 'The state on the disk is unknown, so the orchestrator exits: check the disk, then start it again',
    });
    onFatal(cause);
  };

  return {
    now: () => state,
    cause: () => refusedBecause,
    note(cause) {
      const fault = diskFault(cause);
      if (fault === 'refusing') refuse(cause);
      else if (fault === 'fatal') die(cause);
      return fault;
    },
    onRecovery: run => void listeners.push(run),
    stop: () => cancelProbe(),
  };
}
