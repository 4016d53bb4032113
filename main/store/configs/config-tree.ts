import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { formatOf } from '../../../trainers/index.ts';
import { type Candidate, filesOf, isConfigName, isPlainFile, maxDepth, nameOfFile } from './config-names.ts';

/** Limits for a folder that was configured by mistake, such as a home folder. */
const maxFiles = 10_000;
const maxFolders = 2_000;
/** Folders that belong to other programs. */
const skipped: ReadonlySet<string> = new Set(['node_modules', '__pycache__', 'venv', 'output', 'cache']);

/** A view of the configs folder for one request. */
export interface ConfigTree {
  /** Real path, with links resolved. */
  readonly root: string;
  /** Lists all files as paths with forward slashes; reads the folder once. */
  readonly files: () => Promise<readonly string[]>;
}

export function openTree(root: string): ConfigTree {
  let files: Promise<readonly string[]> | null = null;
  return { root, files: () => (files ??= filesBelow(root)) };
}

/** Lists all files that may contain a config, sorted by name. */
export const candidatesIn = async (tree: ConfigTree): Promise<readonly Candidate[]> =>
  nameCandidates((await tree.files()).filter(file => formatOf(file) !== null));

/** Lists the files below a folder. Follows links only within the folder. */
async function filesBelow(root: string): Promise<readonly string[]> {
  const files: string[] = [];
  const visited = new Set([root]);
  let level: readonly string[] = [''];
  for (let depth = 0; depth < maxDepth && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      for (const entry of await entriesOf(join(root, folder))) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (!entry.isDirectory() && files.length < maxFiles) files.push(path);
        if (visited.size < maxFolders && (await mayEnter(root, path, entry, visited))) next.push(path);
      }
    }
    level = next;
  }
  return files;
}

const entriesOf = async (folder: string): Promise<readonly Dirent[]> =>
  (await readdir(folder, { withFileTypes: true }).catch(() => [])).filter(({ name }) => isPlainFile(name));

async function mayEnter(root: string, path: string, entry: Dirent, visited: Set<string>): Promise<boolean> {
  if (skipped.has(entry.name) || !(entry.isDirectory() || entry.isSymbolicLink())) return false;
  const real = await resolved(join(root, path));
  // Links that point at each other would loop forever.
  if (real === null || !real.startsWith(root + sep) || visited.has(real)) return false;
  visited.add(real);
  return true;
}

/**
 * Names each config file, sorted by name. When two files have the same config name, the file that a lookup finds first gets it.
 * The other file is listed under its path with the extension.
 */
function nameCandidates(files: readonly string[]): readonly Candidate[] {
  const existing = new Set(files);
  return files
    .map(file => {
      const name = nameOfFile(file);
      const first = filesOf(name).find(each => existing.has(each));
      return { name: first === file ? name : file, file };
    })
    .filter(({ name }) => isConfigName(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the real path, with links resolved; null when it does not exist. */
export const resolved = (path: string): Promise<string | null> => realpath(path).catch(() => null);
