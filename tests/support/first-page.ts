import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** As much of a row of Vite's manifest as is needed; all names are keys of it. */
interface Entry {
  readonly file: string;
  readonly imports?: readonly string[];
}

/** The scripts that a browser has loaded when the overview is there, in English. */
const beginnings = ['renderer/index.html', 'renderer/pages/overview/index.tsx'];

/** Their paths, from the manifest of a build of the panel: what these modules import, and what that imports. */
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
  for (const name of beginnings) add(name);
  return [...files].map(file => join(folder, file));
}

/** Each compressed by itself, as a server would send it. */
export const gzipBytes = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
