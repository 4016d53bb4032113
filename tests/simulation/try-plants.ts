import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Plant } from './loading/plants.ts';

const run = promisify(execFile);
const command = new URL('simulate.ts', import.meta.url).pathname;

/** The result of a run with one planted bug. */
interface Tried {
  readonly code: number;
  /** The violated rule and the seed; null when the run found no violation. */
  readonly found: string | null;
}

/** Runs the simulation in a new process, because a process loads the product's modules only once. */
async function tryPlant(name: string): Promise<Tried> {
  const options = { timeout: 300_000, maxBuffer: 64 * 1024 * 1024 };
  const [tried] = await Promise.allSettled([run(process.execPath, [command, '--plant', name], options)]);
  if (tried.status === 'fulfilled') return { code: 0, found: null };
  const { code = -1, stdout = '' }: { code?: number; stdout?: string } = { ...(tried.reason as object) };
  const [, rule = null] = /^BROKEN {4}(.*)$/m.exec(stdout) ?? [];
  const [, seed = ''] = /^seed {6}(\d+)/m.exec(stdout) ?? [];
  return { code, found: rule === null ? null : `${rule} (seed ${seed})` };
}

/** Runs the simulation with each planted bug, and logs the results. Returns true when the simulation finds all bugs. */
export async function tryPlants(plants: readonly Plant[], log: (line: string) => void): Promise<boolean> {
  let isEachFound = true;
  for (const { name } of plants) {
    const { code, found } = await tryPlant(name);
    const isFound = code === 1 && found !== null;
    isEachFound &&= isFound;
    log(`${isFound ? 'found' : 'MISSED'}  ${name}${found === null ? ` (exit code ${code})` : `: ${found}`}`);
  }
  return isEachFound;
}
