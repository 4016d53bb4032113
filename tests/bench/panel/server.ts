import { fillLargeFleet, type LargeFleet, type Scale } from '../../support/large-fleet.ts';
import { createBenchFolder, type BenchProgram, startServer } from '../program.ts';

export interface LargeServer extends LargeFleet, BenchProgram {}

/** Starts a real server in a separate process, with a store of this scale. */
export async function startLargeServer(scale: Scale): Promise<LargeServer> {
  const folder = createBenchFolder();
  const fleet = await fillLargeFleet(folder, scale);
  return { ...fleet, ...(await startServer(folder)) };
}
