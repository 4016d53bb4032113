import type { Launch, Pool } from '../../../../main/orchestrator/pool-model.ts';
import type { Sighting } from '../../../../main/orchestrator/ports/engines.ts';
import { LaunchId, PoolId, type JobId } from '../../../../protocol/ids.ts';
import type { DemandJob, DemandKind, PoolFacts } from '../../../../main/orchestrator/rules/pool-blockers.ts';
import { compileMatcher } from '../../../../main/orchestrator/rules/matching.ts';
import { poolOf, type PoolOptions } from '../../../support/pool-fleet.ts';
import { jobId, makeNeeds, NOW, workerId } from './builders.ts';

export const launchId = (id: string): LaunchId => LaunchId.parse(id);
export const poolId = (id: string): PoolId => PoolId.parse(id);

export function makePool(settings: PoolOptions = {}, changes: Partial<Pool> = {}): Pool {
  const { name, engine, ...rest } = poolOf(settings);
  return {
    id: poolId(`p_${name}`),
    name,
    engine,
    settings: rest,
    createdAt: 0,
    pause: null,
    impossible: [],
    neverJoined: 0,
    backoff: null,
    ...changes,
  };
}

/** Creates a launch that was ordered but not submitted yet. */
export function makeLaunch(changes: Partial<Launch> = {}): Launch {
  const { id = launchId('l1') } = changes;
  return {
    id,
    poolId: poolId('p_gpu'),
    workerId: workerId(`w_${id}`),
    jobId: jobId('j1'),
    isTest: false,
    nodes: 1,
    gpus: 1,
    state: 'wanted',
    outcome: null,
    detail: null,
    endReason: null,
    endAskedAt: null,
    engineId: null,
    reason: null,
    expectedStart: null,
    machines: [],
    orderedAt: NOW,
    submittedAt: null,
    acceptedAt: null,
    startedAt: null,
    joinedAt: null,
    endsAt: null,
    endedAt: null,
    missing: 0,
    ...changes,
  };
}

export const makeSighting = (changes: Partial<Sighting> = {}): Sighting => ({
  engineId: '7',
  state: 'waiting',
  reason: null,
  expectedStart: null,
  startedAt: null,
  endsAt: null,
  nodes: [],
  exit: null,
  ...changes,
});

export const makeFacts = (pool: Pool, changes: Partial<PoolFacts> = {}): PoolFacts => ({
  pool,
  open: changes.coming ?? [],
  coming: [],
  idle: 0,
  gpuHoursToday: 0,
  isWithinHours: true,
  isUnreachable: false,
  ...changes,
});

export function makeKind({
  nodes = 1,
  gpus = 1,
}: {
  readonly nodes?: number;
  readonly gpus?: number;
} = {}): DemandKind {
  return { nodes, gpus, mismatches: compileMatcher(makeNeeds({ nodes, gpuCount: gpus })) };
}

export const makeDemand = (id: string, changes: Partial<Omit<DemandJob, 'id'>> = {}): DemandJob => ({
  id: jobId(id) satisfies JobId,
  user: 'ada',
  team: null,
  kind: makeKind(),
  waitedMs: 60_000,
  ...changes,
});
