import { z } from 'zod';
import { Line } from './line.ts';
import { Name } from './name.ts';

const Limit = z.number().int().min(0).max(100_000).nullable();

/** Matches every user who may not manage the queue. No token has this name. */
export const everyone = '*';

/** Limits on concurrent jobs: in total, per user, per team and on the orchestrator's own machine; null for no limit. */
const allLimits = {
  max_concurrent: Limit,
  user_max_concurrent: Limit,
  /** Per team; does not apply to jobs without a team. */
  team_max_concurrent: Limit,
  /** Overrides `team_max_concurrent` for single teams, by name. */
  team_limits: z
    .record(Name, Limit)
    .refine(limits => Object.keys(limits).length <= 1_000, 'at most 1000 teams'),
  /** Enables team limits and alternation between teams at equal priority. */
  enable_fair_share: z.boolean(),
  /** Users whose new jobs need approval; `*` matches all who may not manage the queue. */
  approval_required_for: z.array(Line.trim().min(1).max(60)).max(1_000),
  /** Maximum number of GPUs per job on the orchestrator's own machine, which runs one job at a time. */
  local_gpu_max_concurrent: Limit,
  /** Maximum number of jobs on the orchestrator's own machine. It never runs more than one; 0 disables it. */
  local_job_max_concurrent: Limit,
};

/** Limits to change; omitted ones keep their values. */
export const ConcurrencyChange = z.strictObject(allLimits).partial();
export type ConcurrencyChange = z.output<typeof ConcurrencyChange>;

/** Not strict, so that this client can read the limits of a newer server. Older servers omit `local_*`. */
export const Concurrency = z.object({
  ...allLimits,
  local_gpu_max_concurrent: Limit.default(null),
  local_job_max_concurrent: Limit.default(1),
});
export type Concurrency = z.output<typeof Concurrency>;

/** State of the queue as a whole. */
export const QueueView = z
  .object({
    ...Concurrency.shape,
    /** While the queue is paused, no job is dispatched; running jobs continue. */
    paused: z.object({ note: z.string().nullable(), by: z.string(), since: z.iso.datetime() }).nullable(),
    /** Includes jobs that wait for approval. */
    total_pending: z.number(),
    total_blocked: z.number(),
    total_running: z.number(),
  })
  .meta({ id: 'QueueView' });
export type QueueView = z.output<typeof QueueView>;

/** The orchestrator's own machine, with SimpleTuner's field names. */
export const LocalStats = z
  .object({
    running_jobs: z.number(),
    /** Pending jobs with target `local`, except those that wait for approval. */
    pending_jobs: z.number(),
    /** GPU numbers on that machine. */
    allocated_gpus: z.array(z.number()),
    /** Empty while the machine is busy, offline, draining or otherwise unavailable. */
    available_gpus: z.array(z.number()),
    total_gpus: z.number(),
    max_concurrent_gpus: z.number().nullable(),
    max_concurrent_jobs: z.number().nullable(),
  })
  .meta({ id: 'LocalStats' });
export type LocalStats = z.output<typeof LocalStats>;

export const WorkerCounts = z
  .object({
    total_workers: z.number(),
    idle_workers: z.number(),
    busy_workers: z.number(),
    offline_workers: z.number(),
    draining_workers: z.number(),
    /** Registered or expected, but without a stream. */
    connecting_workers: z.number(),
  })
  .meta({ id: 'WorkerCounts' });
export type WorkerCounts = z.output<typeof WorkerCounts>;
