import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Whole or not at all, and on disk when this returns. Makes no folder: where one was taken away, it throws. */
export function writeWhole(file: string, text: string): void {
  replace(file, text, true);
  syncFolder(dirname(file));
}

/** Whole or not at all, for other processes to read; what a loss of power takes was of no use after it. Makes no folder, either. */
export function showWhole(file: string, text: string): void {
  replace(file, text, false);
}

function replace(file: string, text: string, durable: boolean): void {
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const handle = openSync(unfinished, 'wx', 0o600);
    try {
      // Unlike writeSync it goes on after a short write, or throws.
      writeFileSync(handle, text);
      if (durable) fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(unfinished, file);
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw cause;
  }
}

/** A new name is on disk when its folder is. Where folders can't be opened (Windows), renaming alone has to do. */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // Nothing more can be done, and the file itself is on disk.
  }
}

export type Fields = Readonly<Record<string, unknown>>;

/** The object in a file; null when there is no such file, or something else in it. */
export function readFields(file: string): Fields | null {
  try {
    return fieldsOf(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

/** The same without waiting for a disk that hangs. */
export async function readFieldsSoon(file: string): Promise<Fields | null> {
  try {
    return fieldsOf(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}

/** Null for what is no object. */
export const fieldsOf = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
