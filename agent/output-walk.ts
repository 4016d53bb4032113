import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { ArtifactPath, checkpointOf, manifestName } from '../protocol/artifact.ts';
import type { Found } from './outputs.ts';

export interface Walked {
  readonly files: ReadonlyMap<string, Found>;
  /** What can't be brought, and why, in words for people. */
  readonly flaws: readonly string[];
}

const usualEntries = 5_000;
const mostDepth = 8;

const isTemporary = (name: string): boolean => /\.(?:tmp|partial|part|lock|fetching)$/i.test(name);
/** Of file systems and desktops. A checkpoint may well have hidden files of its own: those of torch's distributed ones do. */
const isClutter = (name: string): boolean => /^\.(?:nfs[0-9a-f]+|DS_Store$|_)/.test(name);

interface Folder {
  /** Below the root, with a slash at its end where it is not the root itself. */
  readonly path: string;
  readonly depth: number;
  /** The checkpoint that it is a part of. */
  readonly checkpoint: string | null;
}

/**
 * The files below a folder that can be brought, by their keys; links are not followed. Checkpoints come first, and one of which not all can
 * be seen is left out: without one of its files nobody can go on from it.
 */
export async function walkOutputs(root: string, mostEntries = usualEntries): Promise<Walked> {
  const files = new Map<string, Found>();
  const flaws: string[] = [];
  const halves = new Set<string>();
  const ahead: Folder[] = [{ path: '', depth: 1, checkpoint: null }];
  const tooMany = `there is more than ${mostEntries} files and folders: what is beyond that is not looked at`;
  let entries = 0;

  const leaveOut = ({ checkpoint }: Pick<Folder, 'checkpoint'>, flaw: string): void => {
    flaws.push(flaw);
    if (checkpoint !== null) halves.add(checkpoint);
  };

  const take = async (folder: Folder, name: string, isFolder: boolean): Promise<void> => {
    const path = folder.path + name;
    const key = ArtifactPath.safeParse(path);
    if (key.data !== path)
      return leaveOut(folder, `${JSON.stringify(path)} cannot be the name of an artifact`);
    if (!isFolder) {
      const found = await lstat(join(root, path)).catch(() => null);
      // Gone since: what was removed is missed by nobody.
      if (found?.isFile()) files.set(path, { bytes: found.size, changedAt: found.mtimeMs });
      return;
    }
    const named = checkpointOf(`${path}/file`);
    const below = {
      path: `${path}/`,
      depth: folder.depth + 1,
      checkpoint: named?.isFile === false ? named.name : null,
    };
    if (below.depth > mostDepth) leaveOut(below, `what is below ${path} is too deep (${mostDepth} folders)`);
    else if (below.checkpoint !== null) ahead.unshift(below);
    else ahead.push(below);
  };

  const read = async (folder: Folder): Promise<void> => {
    for await (const entry of await opendir(join(root, folder.path))) {
      const { name } = entry;
      entries += 1;
      if (entries > mostEntries) return leaveOut(folder, tooMany);
      const isHidden = name.startsWith('.') && (folder.checkpoint === null || isClutter(name));
      if (isHidden || isTemporary(name) || name === manifestName) continue;
      if (entry.isDirectory()) await take(folder, name, true);
      else if (entry.isFile()) await take(folder, name, false);
    }
  };

  for (let folder = ahead.shift(); folder !== undefined; folder = ahead.shift()) {
    if (entries > mostEntries) leaveOut(folder, tooMany);
    // The trainer may have removed it meanwhile.
    else
      await read(folder).catch(() => {
        if (folder.checkpoint !== null) halves.add(folder.checkpoint);
      });
  }
  for (const key of files.keys()) if (halves.has(checkpointOf(key)?.name ?? '')) files.delete(key);
  return { files, flaws: [...new Set(flaws)] };
}
