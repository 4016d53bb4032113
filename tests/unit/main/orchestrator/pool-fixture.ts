import { onTestFinished } from 'vitest';
import type { JobId } from '../../../../protocol/ids.ts';
import { valueOf } from '../../../support/fleet-outcome.ts';
import {
  createPoolFleet,
  type PoolFleet,
  type PoolFleetOptions,
  type PoolOptions,
} from '../../../support/pool-fleet.ts';

/** A fleet that ends with the test, and must not have seen anything forbidden. */
export async function start(options: PoolFleetOptions = {}): Promise<PoolFleet> {
  const pools = await createPoolFleet(options);
  onTestFinished(pools.close);
  return pools;
}

export async function startWith(pool: PoolOptions = {}, options: PoolFleetOptions = {}): Promise<PoolFleet> {
  const pools = await start(options);
  await pools.addPool(pool);
  return pools;
}

export const oneGpu = { gpu_count: 1 } as const;
export const [minute, hour] = [60_000, 3_600_000];
export const statesOf = ({ launches }: PoolFleet, name?: string) => launches(name).map(({ state }) => state);
export const outcomesOf = ({ launches }: PoolFleet, name?: string) =>
  launches(name).map(({ outcome }) => outcome);
export const countsOf = ({ fleet }: PoolFleet) => {
  const counts: Record<string, number> = {};
  for (const { status, count } of fleet.store.countJobs()) counts[status] = (counts[status] ?? 0) + count;
  return counts;
};
export const retriesOf = ({ fleet }: PoolFleet, id: JobId) => fleet.store.job(id)?.retriesUsed;
export const idOf = ({ pool }: PoolFleet, name?: string) => pool(name).pool_id;
export const poolLine = ({ fleet }: PoolFleet, job: Parameters<typeof fleet.job>[0]) =>
  valueOf(fleet.orchestrator.jobs.explain(job)).pools.map(({ detail }) => detail);
