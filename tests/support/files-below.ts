import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the paths of all files and folders below a folder. Omits entries that disappear during the listing. */
export function pathsBelow(folder: string): readonly string[] {
  return entriesOf(folder).flatMap(entry => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...pathsBelow(path)] : [path];
  });
}

/** Returns the text of every file below a folder, by path, except files with a name in `except`. */
export function textsBelow(folder: string, except: readonly string[] = []): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      for (const [filePath, text] of textsBelow(path, except)) texts.set(filePath, text);
    } else if (entry.isFile() && !except.includes(entry.name)) {
      const text = unlessGone(() => readFileSync(path, 'latin1'));
      if (text !== null) texts.set(path, text);
    }
  }
  return texts;
}

const entriesOf = (folder: string): readonly Dirent[] =>
  unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? [];

/** Returns null when another process has already removed the file. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
    throw cause;
  }
}
