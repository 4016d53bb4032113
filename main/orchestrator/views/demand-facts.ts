import type { Core } from '../core.ts';
import { candidacyOf, settingsOf } from '../memory/eligibility.ts';
import type { Job, WallMs } from '../model.ts';
import type { ContactOf, Launch, Pool } from '../pool-model.ts';
import type { Read } from '../ports/index.ts';
import { type Allowance, type DemandPlan, planDemand } from '../rules/demand.ts';
import { compileMatcher } from '../rules/matching.ts';
import {
  blockersOfOrders,
  type DemandJob,
  type DemandKind,
  type OrderFacts,
  type PoolFacts,
} from '../rules/pool-blockers.ts';
import { isWithin } from '../rules/pool-rules.ts';
import { teamLimitOf } from '../rules/queue-rules.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** Returns the start of the current day in UTC. */
export const startOfDay = (now: WallMs): WallMs => now - (now % dayMs);

/** All facts that determine which launches are ordered, at one moment. */
export interface DemandFacts {
  readonly pools: readonly PoolFacts[];
  readonly plan: DemandPlan;
  readonly now: WallMs;
}

/** Reads the facts and plans the orders. The pools loop executes the plan; explanations only show it. */
export function demandFacts(core: Core, read: Read, contactOf: ContactOf): DemandFacts {
  const now = core.time.now();
  const pools = poolFacts(core, read, contactOf);
  // All pools together cannot launch more than this, so more jobs with the same requirements do not change the plan.
  const limit = pools.reduce((sum, { pool }) => sum + pool.settings.max_launches, 0);
  const plan = planDemand(demandJobs(core, read, now, limit), pools, allowanceOf(read), now);
  return { pools, plan, now };
}

function poolFacts(core: Core, read: Read, contactOf: ContactOf): readonly PoolFacts[] {
  const now = core.time.now();
  const gpuMs = read.gpuMsOfPools(startOfDay(now), now);
  const open = Map.groupBy(read.openLaunches(), ({ poolId }) => poolId);
  return read.pools().map(pool => {
    const openOfPool = open.get(pool.id) ?? [];
    const facts = orderFacts(pool, contactOf, gpuMs.get(pool.id) ?? 0, now);
    return {
      ...facts,
      open: openOfPool,
      coming: openOfPool.filter(launch => isComing(core, read, facts, launch, now)),
      idle: openOfPool.filter(launch => isIdle(core, read, launch)).length,
    };
  });
}

function orderFacts(pool: Pool, contactOf: ContactOf, gpuMsToday: number, now: WallMs): OrderFacts {
  const { failure, isKnown } = contactOf(pool.id);
  const { hours } = pool.settings;
  return {
    pool,
    gpuHoursToday: gpuMsToday / hourMs,
    isWithinHours: hours === null || isWithin(hours, now),
    isUnreachable: !isKnown || failure !== null,
  };
}

/** Whether a stored launch may be submitted now. A test ignores all limits, because it can show why a pool was paused. */
export function maySubmit(
  core: Core,
  read: Read,
  pool: Pool,
  contactOf: ContactOf,
  { isTest }: Pick<Launch, 'isTest'>,
): boolean {
  const now = core.time.now();
  const gpuMs = pool.settings.gpu_hours_per_day === null ? null : read.gpuMsOfPools(startOfDay(now), now);
  const facts = orderFacts(pool, contactOf, gpuMs?.get(pool.id) ?? 0, now);
  return isTest ? !facts.isUnreachable : blockersOfOrders(facts, now).length === 0;
}

/**
 * Whether the launch is expected to provide an idle worker soon. A launch that its pool does not submit now does not count,
 * for example outside of the pool's hours.
 */
function isComing(core: Core, read: Read, facts: OrderFacts, launch: Launch, now: WallMs): boolean {
  switch (launch.state) {
    case 'wanted':
      return blockersOfOrders(facts, now).every(({ code }) => code === 'unreachable');
    case 'submitting':
    case 'unclear':
    case 'waiting':
    case 'running':
      return true;
    case 'joined': {
      const worker = read.worker(launch.workerId);
      return worker !== null && candidacyOf(core, read, worker).status === 'connecting';
    }
    case 'ending':
    case 'ended':
      return false;
  }
}

/** Whether the worker of the launch is ready and has no job. */
export function isIdle(core: Core, read: Read, { state, workerId }: Launch): boolean {
  const worker = state === 'joined' ? read.worker(workerId) : null;
  return worker !== null && candidacyOf(core, read, worker).ineligibilityReasons.length === 0;
}

/** Returns the machine that a job requires. */
const kindOf = ({ spec: { requirements } }: Job): DemandKind => ({
  nodes: requirements.nodes ?? 1,
  gpus: requirements.gpuCount,
  mismatches: compileMatcher(requirements),
});

/** Returns the facts about a pending job from which launches are planned. */
export const demandJobOf = (job: Job, now: WallMs, kind = kindOf(job)): DemandJob => ({
  id: job.id,
  user: job.user,
  team: job.team,
  kind,
  waitedMs: Math.max(0, now - job.queuedAt),
});

function demandJobs(core: Core, read: Read, now: WallMs, limit: number): readonly DemandJob[] {
  const kinds = new Map<string, DemandKind>();
  const jobs: DemandJob[] = [];
  for (const { id, shape } of core.jobQueue.waiting(core, read, limit)) {
    const job = read.job(id);
    if (job === null || job.status !== 'pending' || job.spec.requirements.target === 'local') continue;
    const kind = kinds.get(shape) ?? kindOf(job);
    kinds.set(shape, kind);
    jobs.push(demandJobOf(job, now, kind));
  }
  return jobs;
}

/** Returns how many more jobs the limits of the queue allow to start. */
function allowanceOf(read: Read): Allowance {
  const settings = settingsOf(read);
  const live = read.liveJobs();
  const ofUsers = Map.groupBy(live, ({ user }) => user);
  const ofTeams = Map.groupBy(live, ({ team }) => team);
  const left = (max: number | null, running = 0): number | null =>
    max === null ? null : Math.max(0, max - running);
  return {
    ofAll: left(settings.maxRunning, live.length),
    ofUser: user => left(settings.maxRunningPerUser, ofUsers.get(user)?.length),
    ofTeam: team => left(teamLimitOf(settings, team), ofTeams.get(team)?.length),
  };
}
