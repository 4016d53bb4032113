import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { ArtifactPath, checkpointOf, manifestName } from '../../protocol/artifact.ts';
import type { Found } from './outputs.ts';

export interface Walked {
  readonly files: ReadonlyMap<string, Found>;
  /** Reasons why files cannot be uploaded, as text for people. */
  readonly flaws: readonly string[];
}

/** The maximum number of files and folders to read. */
const defaultMaxEntries = 5_000;
/** The maximum number of nested folders, including the output folder itself. */
const maxDepth = 8;

const isTemporary = (name: string): boolean => /\.(?:tmp|partial|part|lock|fetching)$/i.test(name);
/**
 * Hidden files of file systems and desktops. Other hidden files can belong to a checkpoint, as in torch's distributed
 * format.
 */
const isClutter = (name: string): boolean => /^\.(?:nfs[0-9a-f]+|DS_Store$|_)/.test(name);

interface Folder {
  /** Relative to the root, with a trailing slash; empty for the root itself. */
  readonly path: string;
  readonly depth: number;
  /** Name of the checkpoint that contains this folder; null when there is none. */
  readonly checkpoint: string | null;
}

/**
 * Finds the files below a folder that can be uploaded. Follows no links. Reads checkpoints first, so that the limit of
 * entries does not cut them off. Skips a checkpoint with unreadable parts, because no attempt can resume from it.
 */
export async function walkOutputs(root: string, maxEntries = defaultMaxEntries): Promise<Walked> {
  const files = new Map<string, Found>();
  const flaws: string[] = [];
  const incomplete = new Set<string>();
  const pending: Folder[] = [{ path: '', depth: 1, checkpoint: null }];
  const tooMany = `the folder has more than ${maxEntries} files and folders, and the rest is skipped`;
  let entries = 0;

  const skip = ({ checkpoint }: Pick<Folder, 'checkpoint'>, flaw: string): void => {
    flaws.push(flaw);
    if (checkpoint !== null) incomplete.add(checkpoint);
  };

  const addEntry = async (folder: Folder, name: string, isFolder: boolean): Promise<void> => {
    const path = folder.path + name;
    const key = ArtifactPath.safeParse(path);
    if (key.data !== path) return skip(folder, `${JSON.stringify(path)} cannot be the name of an artifact`);
    if (!isFolder) {
      const stats = await lstat(join(root, path)).catch(() => null);
      // The trainer may have removed the file after the folder was read. This is not a flaw.
      if (stats?.isFile()) files.set(path, { bytes: stats.size, changedAt: stats.mtimeMs });
      return;
    }
    const checkpoint = checkpointOf(`${path}/file`);
    const below = {
      path: `${path}/`,
      depth: folder.depth + 1,
      checkpoint: checkpoint?.isFile === false ? checkpoint.name : null,
    };
    if (below.depth > maxDepth) skip(below, `files below ${path} are nested deeper than ${maxDepth} folders`);
    else if (below.checkpoint !== null) pending.unshift(below);
    else pending.push(below);
  };

  const read = async (folder: Folder): Promise<void> => {
    for await (const entry of await opendir(join(root, folder.path))) {
      const { name } = entry;
      entries += 1;
      if (entries > maxEntries) return skip(folder, tooMany);
      const isHidden = name.startsWith('.') && (folder.checkpoint === null || isClutter(name));
      if (isHidden || isTemporary(name) || name === manifestName) continue;
      if (entry.isDirectory()) await addEntry(folder, name, true);
      else if (entry.isFile()) await addEntry(folder, name, false);
    }
  };

  for (let folder = pending.shift(); folder !== undefined; folder = pending.shift()) {
    if (entries > maxEntries) skip(folder, tooMany);
    // The trainer may have removed the folder after its parent was read.
    else
      await read(folder).catch(() => {
        if (folder.checkpoint !== null) incomplete.add(folder.checkpoint);
      });
  }
  for (const key of files.keys()) if (incomplete.has(checkpointOf(key)?.name ?? '')) files.delete(key);
  return { files, flaws: [...new Set(flaws)] };
}
