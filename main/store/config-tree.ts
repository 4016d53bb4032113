import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { formatOf } from '../../trainers/index.ts';
import { type Candidate, filesOf, isConfigName, isPlainFile, maxDepth, nameOfFile } from './config-names.ts';
import { resolved } from './resolved.ts';

/** A folder of configs that is given by mistake, such as a home folder, must not be read as a whole. */
const maxFiles = 10_000;
const maxFolders = 2_000;
/** Folders in which programs keep what is theirs. */
const skipped: ReadonlySet<string> = new Set(['node_modules', '__pycache__', 'venv', 'output', 'cache']);

/** The configs folder as one call sees it. */
export interface ConfigTree {
  /** Without links. */
  readonly root: string;
  /** All files below it, by their paths with slashes; read once. */
  readonly files: () => Promise<readonly string[]>;
}

export function openTree(root: string): ConfigTree {
  let files: Promise<readonly string[]> | null = null;
  return { root, files: () => (files ??= filesBelow(root)) };
}

/** All that may hold a config, in the order of their names. */
export const candidatesIn = async (tree: ConfigTree): Promise<readonly Candidate[]> =>
  named((await tree.files()).filter(file => formatOf(file) !== null));

/** Links are followed as long as they stay inside. */
async function filesBelow(root: string): Promise<readonly string[]> {
  const files: string[] = [];
  const seen = new Set([root]);
  let level: readonly string[] = [''];
  for (let depth = 0; depth < maxDepth && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      for (const entry of await entriesOf(join(root, folder))) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (!entry.isDirectory() && files.length < maxFiles) files.push(path);
        if (seen.size < maxFolders && (await mayEnter(root, path, entry, seen))) next.push(path);
      }
    }
    level = next;
  }
  return files;
}

const entriesOf = async (folder: string): Promise<readonly Dirent[]> =>
  (await readdir(folder, { withFileTypes: true }).catch(() => [])).filter(({ name }) => isPlainFile(name));

async function mayEnter(root: string, path: string, entry: Dirent, seen: Set<string>): Promise<boolean> {
  if (skipped.has(entry.name) || !(entry.isDirectory() || entry.isSymbolicLink())) return false;
  const real = await resolved(join(root, path));
  // Two links that lead to each other would never end.
  if (real === null || !real.startsWith(root + sep) || seen.has(real)) return false;
  seen.add(real);
  return true;
}

/** Where two files have one name, the first that a look for that name finds has it, and the other its whole path. */
function named(files: readonly string[]): readonly Candidate[] {
  const there = new Set(files);
  return files
    .map(file => {
      const name = nameOfFile(file);
      const first = filesOf(name).find(each => there.has(each));
      return { name: first === file ? name : file, file };
    })
    .filter(({ name }) => isConfigName(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
