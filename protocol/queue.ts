import { z } from 'zod';
import { Line } from './line.ts';
import { Name } from './name.ts';

const Limit = z.number().int().min(0).max(100_000).nullable();

/** Stands for every user who may not manage the queue. No token has this name. */
export const everyone = '*';

/** Of jobs that run at once: in all, of one user, of one team and on the orchestrator's own machine; null for no limit. */
const allLimits = {
  max_concurrent: Limit,
  user_max_concurrent: Limit,
  /** Of each team. Jobs without a team have none. */
  team_max_concurrent: Limit,
  /** Of single teams, by name, in place of `team_max_concurrent`. */
  team_limits: z
    .record(Name, Limit)
    .refine(limits => Object.keys(limits).length <= 1_000, 'at most 1000 teams'),
  /** Without it team limits do not apply, and teams take no turns at equal priority. */
  enable_fair_share: z.boolean(),
  /** Users whose new jobs need approval; `*` for all who may not manage the queue. */
  approval_required_for: z.array(Line.trim().min(1).max(60)).max(1_000),
  /** GPUs that one job may use on the orchestrator's own machine, which runs one job at a time. */
  local_gpu_max_concurrent: Limit,
  /** Jobs on the orchestrator's own machine. It never runs more than one; 0 keeps jobs off it. */
  local_job_max_concurrent: Limit,
};

/** What a request sets; omitted limits stay. */
export const ConcurrencyChange = z.strictObject(allLimits).partial();
export type ConcurrencyChange = z.output<typeof ConcurrencyChange>;

/** Not strict, so that this client reads the limits of a newer server. An older one sends no `local_*`. */
export const Concurrency = z.object({
  ...allLimits,
  local_gpu_max_concurrent: Limit.default(null),
  local_job_max_concurrent: Limit.default(1),
});
export type Concurrency = z.output<typeof Concurrency>;

/** The queue as a whole. */
export const QueueView = z
  .object({
    ...Concurrency.shape,
    /** Nothing is given out while it is paused; what runs goes on. */
    paused: z.object({ note: z.string().nullable(), by: z.string(), since: z.iso.datetime() }).nullable(),
    /** Those that wait for approval included. */
    total_pending: z.number(),
    total_blocked: z.number(),
    total_running: z.number(),
  })
  .meta({ id: 'QueueView' });
export type QueueView = z.output<typeof QueueView>;

/** The orchestrator's own machine, under SimpleTuner's names. */
export const LocalStats = z
  .object({
    running_jobs: z.number(),
    /** Pending jobs with target `local`, without those that wait for approval. */
    pending_jobs: z.number(),
    /** Numbers of GPUs on that machine. */
    allocated_gpus: z.array(z.number()),
    /** Empty while the machine is busy, offline, draining or otherwise takes no job. */
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
    /** Registered or expected, without a stream yet. */
    connecting_workers: z.number(),
  })
  .meta({ id: 'WorkerCounts' });
export type WorkerCounts = z.output<typeof WorkerCounts>;
