import type { JobId, LaunchId, PoolId } from '../../../protocol/ids.ts';
import type { WallMs } from '../model.ts';
import type { Launch } from '../pool-model.ts';
import {
  blockersFor,
  blockersOfKind,
  blockersOfPool,
  type DemandJob,
  type DemandKind,
  type Load,
  loadOf,
  offeringOfPool,
  type PoolFacts,
} from './pool-blockers.ts';

/** Number of jobs that the limits of the queue still allow to start; null for no limit. */
export interface Allowance {
  readonly ofAll: number | null;
  ofUser(user: string): number | null;
  ofTeam(team: string): number | null;
}

export interface DemandOrder {
  readonly poolId: PoolId;
  /** Null for a warm launch, which the pool keeps ready without a job. */
  readonly jobId: JobId | null;
  readonly nodes: number;
  readonly gpus: number;
}

export interface DemandPlan {
  readonly orders: readonly DemandOrder[];
  /** Coming launches (see `PoolFacts.coming`) that no job needs. */
  readonly surplus: readonly LaunchId[];
  /** The coming launch that each job waits for. */
  readonly claims: ReadonlyMap<JobId, LaunchId>;
}

/** Counts the planned jobs, to respect the limits of the queue. */
function createAllowances(allowance: Allowance) {
  let started = 0;
  const startedByUser = new Map<string, number>();
  const startedByTeam = new Map<string, number>();
  const isReached = (limit: number | null, count: number): boolean => limit !== null && count >= limit;
  return {
    allows: ({ user, team }: DemandJob): boolean =>
      !isReached(allowance.ofAll, started) &&
      !isReached(allowance.ofUser(user), startedByUser.get(user) ?? 0) &&
      (team === null || !isReached(allowance.ofTeam(team), startedByTeam.get(team) ?? 0)),
    count({ user, team }: DemandJob): void {
      started += 1;
      startedByUser.set(user, (startedByUser.get(user) ?? 0) + 1);
      if (team !== null) startedByTeam.set(team, (startedByTeam.get(team) ?? 0) + 1);
    },
  };
}

interface PlannedPool {
  readonly facts: PoolFacts;
  readonly load: Load;
  /** Coming launches that no job has claimed yet, the oldest first. Excludes test launches, which take no jobs. */
  readonly unclaimed: Set<Launch>;
  /** Kinds that the pool has refused. It would refuse them again, because its load only grows during planning. */
  readonly refused: Set<DemandKind>;
  /** Kinds that no unclaimed launch fits. They stay unfit, because planning only removes unclaimed launches. */
  readonly unfit: Set<DemandKind>;
}

const planned = (facts: PoolFacts): PlannedPool => ({
  facts,
  load: loadOf(facts),
  unclaimed: new Set(facts.coming.filter(({ isTest }) => !isTest)),
  refused: new Set(),
  unfit: new Set(),
});

/** Claims a coming launch whose worker can take the job; null if there is none. */
function claim(pools: readonly PlannedPool[], { kind }: DemandJob): Launch | null {
  for (const { facts, unclaimed, unfit } of pools) {
    if (unfit.has(kind)) continue;
    for (const launch of unclaimed) {
      if (launch.nodes !== kind.nodes) continue;
      if (kind.mismatches(offeringOfPool(facts.pool, launch)).length > 0) continue;
      unclaimed.delete(launch);
      return launch;
    }
    unfit.add(kind);
  }
  return null;
}

function canGive({ facts, load, refused }: PlannedPool, job: DemandJob, now: WallMs): boolean {
  if (refused.has(job.kind)) return false;
  const blockers = blockersFor(facts, job, load, now);
  // Remember the refusal, except for `spill_over`, the minimum wait: another job of this kind may have waited long enough.
  if (blockers.some(({ code }) => code !== 'spill_over')) refused.add(job.kind);
  return blockers.length === 0;
}

function order(pools: readonly PlannedPool[], job: DemandJob, now: WallMs): DemandOrder | null {
  const taker = pools.find(pool => canGive(pool, job, now));
  if (taker === undefined) return null;
  const { nodes, gpus } = job.kind;
  addTo(taker.load, nodes * gpus);
  return { poolId: taker.facts.pool.id, jobId: job.id, nodes, gpus };
}

function addTo(load: Load, gpus: number): void {
  load.launches += 1;
  load.waiting += 1;
  load.gpus += gpus;
}

/** Orders the launches that a pool keeps ready without jobs. */
function orderWarm({ facts, load, unclaimed }: PlannedPool, now: WallMs): readonly DemandOrder[] {
  const { id, settings } = facts.pool;
  const kind: DemandKind = { nodes: 1, gpus: settings.gpus, mismatches: () => [] };
  const orders: DemandOrder[] = [];
  while (facts.idle + unclaimed.size + orders.length < settings.warm) {
    const blockers = [...blockersOfKind(facts, kind, load), ...blockersOfPool(facts, load, now)];
    if (blockers.length > 0) break;
    addTo(load, kind.gpus);
    orders.push({ poolId: id, jobId: null, nodes: 1, gpus: kind.gpus });
  }
  return orders;
}

/** Returns the unclaimed launches that exceed the number of warm launches, newest first. */
function surplusOf({ facts, unclaimed }: PlannedPool): readonly LaunchId[] {
  const warmCount = Math.max(0, facts.pool.settings.warm - facts.idle);
  return [...unclaimed]
    .slice(warmCount)
    .toReversed()
    .map(({ id }) => id);
}

/**
 * Decides which launches to order and which to end. `jobs`: in the order of the queue. `all`: the pools, the preferred one first.
 * The job of an order is only the reason for it: the worker of the launch takes the first job that fits.
 */
export function planDemand(
  jobs: readonly DemandJob[],
  all: readonly PoolFacts[],
  allowance: Allowance,
  now: WallMs,
): DemandPlan {
  const pools = all.map(planned);
  const allowances = createAllowances(allowance);
  const claims = new Map<JobId, LaunchId>();
  const orders: DemandOrder[] = [];
  for (const job of jobs) {
    if (!allowances.allows(job)) continue;
    const claimed = claim(pools, job);
    if (claimed !== null) claims.set(job.id, claimed.id);
    const ordered = claimed === null ? order(pools, job, now) : null;
    if (ordered !== null) orders.push(ordered);
    if (claimed !== null || ordered !== null) allowances.count(job);
  }
  const warm = pools.flatMap(pool => orderWarm(pool, now));
  return { orders: [...orders, ...warm], surplus: pools.flatMap(surplusOf), claims };
}
