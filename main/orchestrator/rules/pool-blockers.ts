import type { JobId } from '../../../protocol/ids.ts';
import type { Offering, WallMs } from '../model.ts';
import type { Launch, Pool } from '../pool-model.ts';
import type { Matcher, Mismatch } from './matching.ts';

/** The requirements that a job has for a launch. Jobs with equal requirements share one object. */
export interface DemandKind {
  readonly nodes: number;
  /** GPUs of each machine. */
  readonly gpus: number;
  readonly mismatches: Matcher;
}

/** A pending job that only waits for a worker. */
export interface DemandJob {
  readonly id: JobId;
  readonly user: string;
  readonly team: string | null;
  readonly kind: DemandKind;
  readonly waitedMs: number;
}

export interface PoolFacts {
  readonly pool: Pool;
  /** Launches that have not ended. */
  readonly open: readonly Launch[];
  /** Open launches whose worker has not been ready for a job yet. */
  readonly coming: readonly Launch[];
  /** Number of open launches whose worker is ready and has no job. */
  readonly idle: number;
  readonly gpuHoursToday: number;
  readonly isWithinHours: boolean;
  /** Whether the last list request to the pool's engine failed, or none was sent yet. */
  readonly isUnreachable: boolean;
}

/** Why a pool orders no machine for a job. */
export type PoolBlocker =
  | { readonly code: 'mismatch'; readonly mismatches: readonly Mismatch[] }
  | {
      readonly code: 'nodes' | 'launches' | 'waiting' | 'gpus';
      readonly wanted: number;
      readonly max: number;
    }
  | { readonly code: 'impossible'; readonly message: string }
  | { readonly code: 'paused'; readonly by: string; readonly reason: string }
  | { readonly code: 'unreachable' | 'hours' }
  | { readonly code: 'budget'; readonly used: number; readonly max: number }
  | { readonly code: 'backoff'; readonly until: WallMs }
  /** The job has not waited long enough for the pool (`after_s`). `afterMs`: the rest of the wait. */
  | { readonly code: 'spill_over'; readonly afterMs: number };

/** Returns the properties that a worker of the pool is expected to have, before the worker registers. */
export const offeringOfPool = (
  { settings }: Pool,
  { nodes, gpus = settings.gpus }: { readonly nodes: number; readonly gpus?: number },
): Offering => ({
  local: false,
  nodes,
  isMultiNode: false,
  gpuCount: gpus,
  gpuLimit: null,
  vramGb: settings.vram_gb,
  accelerator: settings.accelerator?.toLowerCase() ?? null,
  guarded: true,
  configKeys: settings.config_keys,
  replacesOutputs: true,
  trainers: settings.trainers,
  fetchesData: true,
  fetchesInputs: true,
  labels: settings.labels,
});

/** Totals of the open launches of a pool. Planning adds the launches that it orders. */
export interface Load {
  launches: number;
  waiting: number;
  gpus: number;
}

export const loadOf = ({ open, coming }: PoolFacts): Load => ({
  launches: open.length,
  waiting: coming.filter(({ state }) => state !== 'running' && state !== 'joined').length,
  gpus: open.reduce((sum, { nodes, gpus }) => sum + nodes * gpus, 0),
});

/** Facts that decide whether a pool may order any machine now, regardless of its load. */
export type OrderFacts = Pick<PoolFacts, 'pool' | 'gpuHoursToday' | 'isWithinHours' | 'isUnreachable'>;

/** Returns the blockers of all orders. Checked again right before each order is sent, because an order may have waited. */
export function blockersOfOrders({ pool, ...facts }: OrderFacts, now: WallMs): readonly PoolBlocker[] {
  const { settings, pause, backoff } = pool;
  const blockers: PoolBlocker[] = [];
  if (pause !== null) blockers.push({ code: 'paused', by: pause.by, reason: pause.reason });
  if (facts.isUnreachable) blockers.push({ code: 'unreachable' });
  if (!facts.isWithinHours) blockers.push({ code: 'hours' });
  const budget = settings.gpu_hours_per_day;
  if (budget !== null && facts.gpuHoursToday >= budget)
    blockers.push({ code: 'budget', used: facts.gpuHoursToday, max: budget });
  if (backoff !== null && backoff.until > now) blockers.push({ code: 'backoff', until: backoff.until });
  return blockers;
}

/** Returns the pool's own blockers, which apply to every job. */
export function blockersOfPool(
  { pool, ...facts }: PoolFacts,
  load: Load,
  now: WallMs,
): readonly PoolBlocker[] {
  const { settings } = pool;
  const blockers = [...blockersOfOrders({ pool, ...facts }, now)];
  if (load.launches >= settings.max_launches)
    blockers.push({ code: 'launches', wanted: load.launches + 1, max: settings.max_launches });
  if (load.waiting >= settings.max_waiting)
    blockers.push({ code: 'waiting', wanted: load.waiting + 1, max: settings.max_waiting });
  return blockers;
}

/** Returns the blockers of one kind of machine in the pool. */
export function blockersOfKind(
  { pool }: PoolFacts,
  { nodes, gpus }: DemandKind,
  load: Load,
): readonly PoolBlocker[] {
  const blockers: PoolBlocker[] = [];
  const { settings, impossible } = pool;
  if (nodes > settings.nodes) blockers.push({ code: 'nodes', wanted: nodes, max: settings.nodes });
  const refused = impossible.find(entry => entry.nodes === nodes && entry.gpus === gpus);
  if (refused !== undefined) blockers.push({ code: 'impossible', message: refused.message });
  const gpusAfter = load.gpus + nodes * gpus;
  if (settings.max_gpus !== null && gpusAfter > settings.max_gpus)
    blockers.push({ code: 'gpus', wanted: gpusAfter, max: settings.max_gpus });
  return blockers;
}

/** Returns all blockers of a job in the pool. If the pool's workers do not match the job, returns only that blocker. */
export function blockersFor(
  facts: PoolFacts,
  job: DemandJob,
  load: Load,
  now: WallMs,
): readonly PoolBlocker[] {
  const mismatches = job.kind.mismatches(offeringOfPool(facts.pool, { nodes: job.kind.nodes }));
  if (mismatches.length > 0) return [{ code: 'mismatch', mismatches }];
  const afterMs = facts.pool.settings.after_s * 1_000 - job.waitedMs;
  return [
    ...blockersOfKind(facts, job.kind, load),
    ...blockersOfPool(facts, load, now),
    ...(afterMs > 0 ? [{ code: 'spill_over', afterMs } as const] : []),
  ];
}

/** Returns why the pool orders no machine for this job now; empty when it orders one. `planDemand` uses the same rules. */
export const poolBlockers = (facts: PoolFacts, job: DemandJob, now: WallMs): readonly PoolBlocker[] =>
  blockersFor(facts, job, loadOf(facts), now);
