/**
 * Measures the time from the start of the built server until it is ready, with a hundred thousand jobs. Rounds alternate with a
 * minimal program that opens the same database and listens (`bare.ts`). Each round stops the server in an orderly way.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fillLargeFleet } from '../support/large-fleet.ts';
import { alternate, type Line } from './figures.ts';
import { createBenchFolder, buildServer, startProgram, startServer } from './program.ts';

const scale = { workers: 1_000, pending: 10_000, running: 500, ended: 89_500 };

export async function measureStart(rounds: number): Promise<readonly Line[]> {
  const program = buildServer();
  const folder = createBenchFolder();
  await fillLargeFleet(folder, scale);
  const startTrainyard = async (): Promise<number> => {
    const server = await startServer(folder, [], { program });
    await server.end();
    return server.readyMs;
  };
  const startMinimal = async (): Promise<number> => {
    const server = await startProgram(['tests/bench/bare.ts', join(folder, 'trainyard.db')], folder);
    await server.end();
    return server.readyMs;
  };
  const [serverMs, minimalMs] = await alternate(rounds, startTrainyard, startMinimal);
  rmSync(folder, { recursive: true });
  return [
    { what: 'start to ready, 100,000 jobs', figure: serverMs, unit: 'ms' },
    { what: '  minimal Express program with the same database', figure: minimalMs, unit: 'ms' },
    { what: '  ratio', figure: serverMs / minimalMs, unit: 'x', atMost: 2 },
  ];
}
