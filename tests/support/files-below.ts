import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The paths of all files and folders below a folder; what goes while it is looked at is not among them. */
export function pathsBelow(folder: string): readonly string[] {
  return entriesOf(folder).flatMap(entry => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...pathsBelow(path)] : [path];
  });
}

/** Every file below a folder as text, by its path; those with a name in `except` are left out. */
export function textsBelow(folder: string, except: readonly string[] = []): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) for (const found of textsBelow(path, except)) texts.set(...found);
    else if (entry.isFile() && !except.includes(entry.name)) {
      const text = unlessGone(() => readFileSync(path, 'latin1'));
      if (text !== null) texts.set(path, text);
    }
  }
  return texts;
}

const entriesOf = (folder: string): readonly Dirent[] =>
  unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? [];

/** Null for what a process that still runs has taken away in between. */
function unlessGone<T>(look: () => T): T | null {
  try {
    return look();
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
    throw cause;
  }
}
