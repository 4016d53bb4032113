import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file atomically and durably: it is on disk when this returns. Throws when the folder is missing. */
export function writeWhole(file: string, text: string): void {
  replace(file, text, true);
  syncFolder(dirname(file));
}

/**
 * Writes a file atomically for other processes. The write is not durable, because nobody needs the file after a power
 * failure. Throws when the folder is missing.
 */
export function showWhole(file: string, text: string): void {
  replace(file, text, false);
}

function replace(file: string, text: string, durable: boolean): void {
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const handle = openSync(unfinished, 'wx', 0o600);
    try {
      // Unlike writeSync, this continues after a short write, or throws.
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

/** Makes a rename durable. Windows cannot open folders, so the rename alone must be enough there. */
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

/** Returns the object in a JSON file; null when the file is missing or contains anything else. */
export function readFields(file: string): Fields | null {
  try {
    return fieldsOf(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

/** Like `readFields`, but asynchronous, so that a hanging disk does not block the process. */
export async function readFieldsSoon(file: string): Promise<Fields | null> {
  try {
    return fieldsOf(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}

/** Returns null when the value is not an object, or is an array. */
export const fieldsOf = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
