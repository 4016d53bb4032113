import { onTestFinished } from 'vitest';
import type { JobId } from '../../../../protocol/ids.ts';
import { valueOf } from '../../../support/fleet-outcome.ts';
import {
  createPoolFleet,
  type PoolFleet,
  type PoolFleetOptions,
  type PoolOptions,
} from '../../../support/pool-fleet.ts';

/** Opens a fleet to which tests can add pools. The fleet closes when the test ends. */
export async function openPoolFleet(options: PoolFleetOptions = {}): Promise<PoolFleet> {
  const pools = await createPoolFleet(options);
  onTestFinished(pools.close);
  return pools;
}

/** Opens a fleet with one pool. */
export async function openPool(pool: PoolOptions = {}, options: PoolFleetOptions = {}): Promise<PoolFleet> {
  const pools = await openPoolFleet(options);
  await pools.addPool(pool);
  return pools;
}

export const oneGpu = { gpu_count: 1 } as const;
export const minuteMs = 60_000;
export const hourMs = 3_600_000;

export const launchStates = ({ launches }: PoolFleet, name?: string) =>
  launches(name).map(({ state }) => state);
export const launchOutcomes = ({ launches }: PoolFleet, name?: string) =>
  launches(name).map(({ outcome }) => outcome);
/** Returns the number of jobs with each status. */
export const jobCounts = ({ fleet }: PoolFleet) => {
  const counts: Record<string, number> = {};
  for (const { status, count } of fleet.store.countJobs()) counts[status] = (counts[status] ?? 0) + count;
  return counts;
};
export const retriesOf = ({ fleet }: PoolFleet, id: JobId) => fleet.store.job(id)?.retriesUsed;
export const poolIdOf = ({ pool }: PoolFleet, name?: string) => pool(name).pool_id;
/** Returns the text about each pool in the explanation of the job. */
export const poolDetails = ({ fleet }: PoolFleet, job: Parameters<typeof fleet.job>[0]) =>
  valueOf(fleet.orchestrator.jobs.explain(job)).pools.map(({ detail }) => detail);
