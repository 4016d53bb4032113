import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { sizeOf } from './file-check.ts';

/**
 * What an orderly stop leaves beside the database: by it the next start knows that nobody has touched the file since, and that it need
 * not look through all of it (docs/adr/0023).
 */
export interface StopMark {
  /** Whether the file is as it was left. That is true once: the mark is gone afterwards. */
  take(): boolean;
  /** Once the database is closed. Nothing where its log is still there: then it was not closed in order. */
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
        // The next start looks through the file, as it does after a crash.
      }
    },
  };
}

/**
 * Systems count the time of a change in steps of some milliseconds: one that comes within the same step as the last would not show. It
 * leaves no whole second behind.
 */
function setApart(file: string): void {
  const { atime, mtimeMs } = statSync(file);
  utimesSync(file, atime, Math.floor(mtimeMs / 1_000));
}

/** No program changes a file and leaves all of these as they were: nobody can set the time of its last change of any kind. */
function traitsOf(file: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}
