import { join } from 'node:path';
import type { EngineOf, LaunchOrder, Pool } from '../orchestrator/ports/index.ts';
import { createCommandEngine } from './command/index.ts';
import { createKubernetesEngine } from './kubernetes/index.ts';
import type { RunProgram } from './run-program.ts';
import { createSlurmEngine } from './slurm/index.ts';
import { startScript } from './start-script.ts';

export interface EnginesDeps {
  /** Returns an id that distinguishes the launches of this fleet from those of other fleets on the same engine. */
  readonly fleetId: () => string;
  /** Folder that contains a subfolder with programs for each `command` engine. */
  readonly folder: string;
  /** Returns the URL at which workers reach the orchestrator, and its pin. */
  readonly address: () => { readonly url: string; readonly pin: string | null };
  /** Returns the SHA-256 of the install script; null when no worker program was built. */
  readonly installHash: () => Promise<string | null>;
  readonly run: RunProgram;
}

/** Returns a function that creates the engine of a pool. Engines are stateless, so a changed pool simply gets a new engine. */
export function createEngines(deps: EnginesDeps): EngineOf {
  const createEngine = ({ engine, settings }: Pool, installSha256: string) => {
    const { run, folder } = deps;
    const fleet = deps.fleetId();
    const start = ({ workerName }: LaunchOrder): string =>
      startScript({ ...deps.address(), installSha256, settings, workerName });
    switch (engine.kind) {
      case 'slurm': {
        const largest = { gpus: settings.gpus, wallTimeS: settings.wall_time_s };
        return createSlurmEngine({ fleet, settings: engine, largest, start, run });
      }
      case 'kubernetes':
        return createKubernetesEngine({ fleet, settings: engine, start, run });
      case 'command':
        return createCommandEngine({ fleet, folder: join(folder, engine.programs), start, run });
    }
  };
  return pool => ({
    ...createEngine(pool, ''),
    async launch(order) {
      const hash = await deps.installHash();
      if (hash === null && pool.settings.worker_program === null) return noProgram;
      return createEngine(pool, hash ?? '').launch(order);
    },
  });
}

const noProgram = {
  kind: 'rejected',
  scope: 'temporary',
  code: 'program_not_built',
  message:
    'The orchestrator has no worker program that machines could download: run "npm run build", or set worker_program',
} as const;
