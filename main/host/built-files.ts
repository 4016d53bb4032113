import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { type ProgramName, programNames } from '../../protocol/agent-api.ts';

/**
 * Folder of the panel relative to this module: beside a built program, whose modules are at its top or one folder below, or in
 * `dist` for a run from sources.
 */
const panelPlaces = ['../renderer/', '../../renderer/', '../../dist/renderer/'];

/** Finds the built panel; null when it was not built. The sources also contain an index.html, but no assets. */
export function findPanel(program: string = import.meta.url): string | null {
  const folders = panelPlaces.map(place => fileURLToPath(new URL(place, program)));
  const isBuilt = (folder: string): boolean =>
    existsSync(`${folder}index.html`) && existsSync(`${folder}assets`);
  return folders.find(isBuilt) ?? null;
}

/** Folder of the worker programs relative to this module, as for the panel. */
const workerPlaces = ['../agent/', '../../agent/', '../../dist/agent/'];

/** Finds the built worker programs; null when they were not built. */
export function findWorkerPrograms(program: string = import.meta.url): string | null {
  const folders = workerPlaces.map(place => fileURLToPath(new URL(place, program)));
  return folders.find(folder => existsSync(join(folder, programNames[0]))) ?? null;
}

interface Program {
  readonly name: ProgramName;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Lists the worker programs. Searches for the folder and reads it on each call, because a build may replace it at runtime.
 */
export function createWorkerPrograms(find: () => string | null): () => Promise<readonly Program[]> {
  /** Hash by path and by the inode, size and mtime of the file. */
  const known = new Map<string, Promise<string>>();
  const hashOf = (path: string, mark: string): Promise<string> => {
    const key = `${path} ${mark}`;
    const hash = known.get(key) ?? sha256(path);
    known.set(key, hash);
    hash.catch(() => known.delete(key));
    return hash;
  };
  const findProgram = async (name: ProgramName, within: string): Promise<readonly Program[]> => {
    const path = join(within, name);
    try {
      const { size: bytes, ino, mtimeMs } = await stat(path);
      return [{ name, path, bytes, sha256: await hashOf(path, `${ino} ${bytes} ${mtimeMs}`) }];
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
      throw cause;
    }
  };
  return async () => {
    const folder = find();
    if (folder === null) return [];
    return (await Promise.all(programNames.map(name => findProgram(name, folder)))).flat();
  };
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1_048_576 }), hash);
  return hash.digest('hex');
}
