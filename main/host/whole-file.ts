import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A file that was completely written and synced under a temporary name. */
export interface Draft {
  /** Renames the draft to its final name. An existing file is replaced. */
  keep(): void;
  drop(): void;
}

/** Writes a draft that only its owner can access. Throws with a reason. */
export function draftOf(file: string, text: string): Draft {
  const unfinished = `${file}.new`;
  const drop = (): void => rmSync(unfinished, { force: true });
  withFileInError(file, () => {
    drop();
    withOpen(unfinished, 'wx', handle => {
      writeFileSync(handle, text);
      fsyncSync(handle);
    });
  });
  return {
    drop,
    keep: () =>
      withFileInError(file, () => {
        renameSync(unfinished, file);
        // Windows cannot open a folder to sync it, and does not need to.
        if (process.platform !== 'win32') withOpen(dirname(file), 'r', fsyncSync);
      }),
  };
}

/** Writes a file atomically: a crash never leaves an incomplete file. Throws with a reason. */
export const writeWhole = (file: string, text: string): void => draftOf(file, text).keep();

function withFileInError(file: string, act: () => void): void {
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
