import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** One entry of Vite's manifest, with the fields that this file uses. `imports` contains keys of other entries. */
interface Entry {
  readonly file: string;
  readonly imports?: readonly string[];
}

/** The entry modules that a browser loads to show the overview in English. */
const entryModules = ['renderer/index.html', 'renderer/pages/overview/index.tsx'];

/** Returns the paths of the scripts that the first page loads, from the manifest of the panel build in `folder`. */
export function firstPageFiles(folder: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Record<
    string,
    Entry
  >;
  const files = new Set<string>();
  const add = (name: string): void => {
    const entry = manifest[name];
    if (entry === undefined) throw new Error(`the build has no ${name}`);
    if (files.has(entry.file)) return;
    files.add(entry.file);
    for (const imported of entry.imports ?? []) add(imported);
  };
  for (const name of entryModules) add(name);
  return [...files].map(file => join(folder, file));
}

/** Returns the total size of the files in bytes, each compressed separately, as a server does. */
export const gzipBytes = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
