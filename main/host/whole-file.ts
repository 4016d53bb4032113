import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A file that is written, whole and on disk, and does not have its name yet. */
export interface Draft {
  /** It takes its name, in the place of what had it. */
  keep(): void;
  drop(): void;
}

/** For its owner's eyes only. Throws with a reason. */
export function draftOf(file: string, text: string): Draft {
  const unfinished = `${file}.new`;
  const drop = (): void => rmSync(unfinished, { force: true });
  saying(file, () => {
    drop();
    withOpen(unfinished, 'wx', handle => {
      writeFileSync(handle, text);
      fsyncSync(handle);
    });
  });
  return {
    drop,
    keep: () =>
      saying(file, () => {
        renameSync(unfinished, file);
        // Windows opens no folders, and keeps names in order by itself.
        if (process.platform !== 'win32') withOpen(dirname(file), 'r', fsyncSync);
      }),
  };
}

/** No end of the process leaves a part of it. Throws with a reason. */
export const writeWhole = (file: string, text: string): void => draftOf(file, text).keep();

function saying(file: string, act: () => void): void {
  try {
    act();
  } catch (cause) {
    throw new Error(`${file} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function withOpen(path: string, flags: string, act: (handle: number) => void): void {
  const handle = openSync(path, flags, 0o600);
  try {
    act(handle);
  } finally {
    closeSync(handle);
  }
}
