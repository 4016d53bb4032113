import { fillLargeFleet, type LargeFleet, type Scale } from '../../support/large-fleet.ts';
import { benchFolder, type BenchProgram, startServer } from '../program.ts';

export interface LargeServer extends LargeFleet, BenchProgram {}

/** A real server in a process of its own, with as much in its store. */
export async function startLargeServer(scale: Scale): Promise<LargeServer> {
  const folder = benchFolder();
  const fleet = await fillLargeFleet(folder, scale);
  return { ...fleet, ...(await startServer(folder)) };
}
