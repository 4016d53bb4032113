import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isDiskFull, openFailure } from './disk-state.ts';

/** Maximum wait for another process that is about to exit or starts at the same time. */
const waitMs = 500;

export interface FolderLock {
  release(): void;
}

/** Another orchestrator uses the folder. */
export class FolderInUse extends Error {
  override readonly name = 'FolderInUse';
}

/**
 * Locks the data folder until this process exits or crashes. The operating system holds the lock on lock.db through SQLite
 * (docs/adr/0007-folder-lock.md). Throws `FolderInUse`, which names the process that holds the lock. Touches only the two lock
 * files.
 */
export function lockFolder(folder: string, since: string): FolderLock {
  const file = join(folder, 'lock.db');
  const holderFile = join(folder, 'lock.json');
  const db = openLocked(file, () => new FolderInUse(inUse(folder, holderFile)));
  try {
    writeHolder(holderFile, { pid: process.pid, host: hostname(), since });
  } catch (cause) {
    // lock.db alone is the lock. On a full disk, the server starts without its entry in lock.json. The server can then serve
    // reads, and recovers once there is space.
    if (!isDiskFull(cause)) {
      db.close();
      throw openFailure(cause, holderFile);
    }
    forgetHolder(holderFile);
  }
  const release = (): void => {
    process.removeListener('exit', release);
    if (!db.open) return;
    forgetHolder(holderFile);
    db.close();
  };
  // The listener also keeps the connection from being garbage-collected, which would release the lock.
  process.on('exit', release);
  return { release };
}

function openLocked(file: string, inUseError: () => Error): Database.Database {
  let db: Database.Database | null = null;
  try {
    createOnce(file);
    db = new Database(file, { timeout: waitMs });
    // Nothing is ever written, so no journal file is needed.
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (cause) {
    db?.close();
    if (cause instanceof Database.SqliteError && cause.code.startsWith('SQLITE_BUSY')) throw inUseError();
    throw openFailure(cause, file);
  }
}

/** Does not open an existing file: on POSIX, closing any handle of a file releases the process's locks on it. */
function createOnce(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    if (!existsSync(file)) throw cause;
  }
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  /** RFC 3339. */
  readonly since: string;
}

const unfinished = (file: string): string => `${file}.new`;

function writeHolder(file: string, holder: Holder): void {
  const partial = unfinished(file);
  rmSync(partial, { force: true });
  writeFileSync(partial, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  renameSync(partial, file);
}

/** Also removes the partial file that a full disk leaves. */
function forgetHolder(file: string): void {
  rmSync(file, { force: true });
  rmSync(unfinished(file), { force: true });
}

function inUse(folder: string, holderFile: string): string {
  const holder = readHolder(holderFile);
  const who = holder === null ? 'one that is just starting' : describe(holder);
  return `The data folder ${folder} is in use by another orchestrator, ${who}: use or stop that one, or give this one another --data-dir`;
}

/** Describes the process named in the folder's lock.json. Returns null when there is none, or when that process has ended. */
export function holderOf(folder: string): string | null {
  const holder = readHolder(join(folder, 'lock.json'));
  return holder === null ? null : describe(holder);
}

function describe({ pid, host, since }: Holder): string {
  return `process ${pid}${host === hostname() ? '' : ` on ${host}`}, since ${since}`;
}

/** Returns null for an unreadable file, or one left by a process that has ended. */
function readHolder(file: string): Holder | null {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    if (typeof pid !== 'number' || typeof host !== 'string' || typeof since !== 'string') return null;
    return host === hostname() && !isAlive(pid) ? null : { pid, host, since };
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    // The process may belong to another user.
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM';
  }
}
