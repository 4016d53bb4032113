import type { Plant } from '../simulation/loading/plants.ts';

/** A deliberate bug that the chaos run must find. */
export interface ChaosPlant extends Plant {
  /**
   * True when the harness must delete SQLite's WAL after each kill of the orchestrator, so that committed data is lost.
   */
  readonly losesWal?: true;
}

export const plants: readonly ChaosPlant[] = [
  {
    name: 'fencing-off',
    changes: [
      {
        file: 'main/orchestrator/commands/jobs/reports.ts',
        text: 'if (report.attempt_id && report.attempt_id !== attempt.id) {',
        instead: 'if (report.attempt_id === "") {',
      },
      {
        file: 'main/orchestrator/commands/jobs/reports.ts',
        text: 'if (attempt?.workerId !== worker.id) {',
        instead: 'if (attempt === null) {',
      },
    ],
  },
  {
    name: 'replay-off-by-one',
    changes: [
      {
        file: 'main/orchestrator/memory/feed.ts',
        text: 'let seq = after;',
        instead: 'let seq = after + 1;',
      },
    ],
  },
  { name: 'lost-wal', changes: [], losesWal: true },
];

const plantVariable = 'TRAINYARD_TEST_PLANT';

/** Returns environment variables with which each program of the fleet loads the product with the planted bug. */
export function plantEnvironment(plant: ChaosPlant | null): Readonly<Record<string, string>> {
  if (plant === null || plant.changes.length === 0) return {};
  const preload = new URL('planting.ts', import.meta.url).href;
  return { [plantVariable]: plant.name, NODE_OPTIONS: `--import ${preload}` };
}

/** Returns the planted bug of the current process. Runs in the preload. */
export const plantOfThisProcess = (): ChaosPlant | undefined =>
  plants.find(({ name }) => name === process.env[plantVariable]);
