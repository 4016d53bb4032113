import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { sizeOf } from './file-check.ts';

/**
 * A file that an orderly stop leaves beside the database. It tells the next start that the database is unchanged, so a full check
 * is unnecessary (docs/adr/0023).
 */
export interface StopMark {
  /** Returns whether the file is unchanged, and removes the mark. */
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
        const left = readFileSync(mark, 'utf8');
        rmSync(mark);
        return left === traitsOf(file) && sizeOf(`${file}-wal`) === null;
      } catch {
        return false;
      }
    },
    leave() {
      if (sizeOf(`${file}-wal`) !== null) return;
      try {
        setApart(file);
        writeFileSync(mark, traitsOf(file), { mode: 0o600 });
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
function setApart(file: string): void {
  const { atime, mtimeMs } = statSync(file);
  utimesSync(file, atime, Math.floor(mtimeMs / 1_000));
}

/** Any change to a file also changes one of these: programs cannot set ctime. */
function traitsOf(file: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}
