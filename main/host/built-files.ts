import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { type ProgramName, programNames } from '../../protocol/agent-api.ts';

/**
 * Folders that may contain the panel, relative to this module. In a built program, the module is in the folder beside the panel
 * or one level below. In the sources, the panel is in `dist`.
 */
const panelPlaces = ['../renderer/', '../../renderer/', '../../dist/renderer/'];

/** Finds the built panel; null when it was not built. The folder of the sources contains an index.html too, but no assets. */
export function findPanel(program: string = import.meta.url): string | null {
  const folders = panelPlaces.map(place => fileURLToPath(new URL(place, program)));
  const isBuilt = (folder: string): boolean =>
    existsSync(`${folder}index.html`) && existsSync(`${folder}assets`);
  return folders.find(isBuilt) ?? null;
}

/** Folders that may contain the worker programs, relative to this module; see `panelPlaces`. */
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
 * Creates a function that lists the worker programs. Each call searches for the folder and reads it, because a build may replace
 * it while the server runs.
 */
export function createWorkerPrograms(find: () => string | null): () => Promise<readonly Program[]> {
  /** The hash of each file. The key is the path with the inode, size and mtime. */
  const hashes = new Map<string, Promise<string>>();
  const hashOf = (path: string, fingerprint: string): Promise<string> => {
    const key = `${path} ${fingerprint}`;
    const hash = hashes.get(key) ?? sha256(path);
    hashes.set(key, hash);
    hash.catch(() => hashes.delete(key));
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

/** The worker programs as last read, for answers that cannot wait for the disk. */
export interface OfferedBook {
  readonly current: () => Offered;
  /** Resolves when `current` is up to date. */
  readonly refresh: () => Promise<void>;
}

interface Offered {
  readonly version: string;
  /** Null until the programs have been read for the first time. */
  readonly programs: readonly Program[] | null;
}

/** A build may replace the programs while the server runs. Hashing them again takes no time while they are unchanged. */
const offeredAgeMs = 10_000;

export function createOfferedBook(
  programs: () => Promise<readonly Program[]>,
  version: string,
  mono: () => number,
): OfferedBook {
  let offered: Offered = { version, programs: null };
  let readAt = Number.NEGATIVE_INFINITY;
  const refresh = async (): Promise<void> => {
    readAt = mono();
    // Without the programs, no update is offered. The call that downloads them reports the failure.
    offered = { version, programs: await programs().catch(() => []) };
  };
  return {
    refresh,
    current() {
      if (mono() - readAt >= offeredAgeMs) void refresh();
      return offered;
    },
  };
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1_048_576 }), hash);
  return hash.digest('hex');
}
