import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, opendir, realpath, stat } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { datasetLimits, datasetPathFlaw } from '../protocol/dataset.ts';

/** A file of a folder that is pushed as a dataset. */
export interface SourceFile {
  /** The path in the dataset: relative, with slashes. */
  readonly path: string;
  /** The file to read; for a link, its target. */
  readonly source: string;
  readonly stats: BigIntStats;
}

export interface Walked {
  readonly files: readonly SourceFile[];
  /** Reasons why the folder cannot be pushed, as sentences without their full stop; at most 20. */
  readonly problems: readonly string[];
  /** Number of skipped entries, such as `.DS_Store`, that operating systems and editors leave behind. */
  readonly skipped: number;
}

const maxProblems = 20;

/** Names of files and folders that no trainer reads, and that differ between machines. */
const clutter: ReadonlySet<string> = new Set([
  '.DS_Store',
  '.git',
  '.ipynb_checkpoints',
  '__pycache__',
  'Thumbs.db',
  'desktop.ini',
]);
const isClutter = (name: string): boolean => clutter.has(name) || name.startsWith('._');

/**
 * Finds the files of a folder; for a single file, returns that file. `start` can be a link. A link to a file inside the folder
 * counts as that file. Any other link is reported as a problem, so that a push never contains files from elsewhere. Rejects when
 * the folder cannot be read, or when the signal fires.
 */
export async function walkFolder(start: string, signal: AbortSignal): Promise<Walked> {
  const root = await realpath(start);
  const rootStats = await stat(root, { bigint: true });
  if (rootStats.isFile())
    return { files: [{ path: basename(start), source: root, stats: rootStats }], problems: [], skipped: 0 };

  const files: SourceFile[] = [];
  const problems: string[] = [];
  let skipped = 0;

  const addLink = async (path: string, link: string): Promise<void> => {
    const target = await realpath(link).catch(() => null);
    if (target === null) return void problems.push(`${path} is a link to something that does not exist`);
    const isInside = target === root || target.startsWith(root + sep);
    const stats = isInside ? await stat(target, { bigint: true }) : null;
    if (stats?.isFile()) files.push({ path, source: target, stats });
    else
      problems.push(
        isInside
          ? `${path} is a link to a folder: a trainer would see its files twice`
          : `${path} is a link to ${target}, which is outside the folder: copy it here, or push that folder separately`,
      );
  };

  const addEntry = async (path: string, entry: Dirent): Promise<void> => {
    const flaw = datasetPathFlaw(path);
    const source = join(root, path);
    if (flaw !== null) problems.push(`The path ${JSON.stringify(path)} ${flaw}`);
    else if (entry.isDirectory()) await walk(path);
    else if (entry.isSymbolicLink()) await addLink(path, source);
    else if (entry.isFile()) files.push({ path, source, stats: await lstat(source, { bigint: true }) });
    else problems.push(`${path} is neither a file nor a folder`);
  };

  const walk = async (folder: string): Promise<void> => {
    for await (const entry of await opendir(join(root, folder))) {
      signal.throwIfAborted();
      if (problems.length >= maxProblems || files.length > datasetLimits.files) return;
      if (isClutter(entry.name)) skipped += 1;
      else await addEntry(folder === '' ? entry.name : `${folder}/${entry.name}`, entry);
    }
  };

  await walk('');
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), problems, skipped };
}
