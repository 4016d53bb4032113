import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { Line, Name } from './text.ts';

const Limit = z.number().int().min(0).max(100_000).nullable();

/** In a list of users, this text means all users who may not manage the queue. No token can have this name. */
export const everyone = '*';

/** Limits on concurrent jobs: in total, per user, per team and on the orchestrator's own machine; null for no limit. */
const allLimits = {
  max_concurrent: Limit.describe('Maximum number of jobs that run at the same time; null for no limit.'),
  user_max_concurrent: Limit.describe('Maximum number of running jobs per user; null for no limit.'),
  team_max_concurrent: Limit.describe(
    'Maximum number of running jobs per team; null for no limit. Does not apply to jobs without a team.',
  ),
  team_limits: z
    .record(Name, Limit)
    .refine(limits => Object.keys(limits).length <= 1_000, 'at most 1000 teams')
    .describe('Overrides `team_max_concurrent` for single teams, by name.'),
  enable_fair_share: z
    .boolean()
    .describe('Enables team limits and alternation between teams at equal priority.'),
  approval_required_for: z
    .array(Line.trim().min(1).max(60))
    .max(1_000)
    .describe('Users whose new jobs need approval; `*` matches all who may not manage the queue.'),
  local_gpu_max_concurrent: Limit.describe(
    "Maximum number of GPUs per job on the orchestrator's own machine; null for no limit.",
  ),
  local_job_max_concurrent: Limit.describe(
    "Maximum number of jobs on the orchestrator's own machine. It never runs more than one; 0 disables it.",
  ),
};

/** Limits to change; omitted ones keep their values. */
export const ConcurrencyChange = z.strictObject(allLimits).partial();
export type ConcurrencyChange = z.output<typeof ConcurrencyChange>;

/** Limits of the queue. Accepts unknown keys, so that a client can read the limits of a newer server. Older servers omit `local_*`. */
export const Concurrency = z.object({
  ...allLimits,
  local_gpu_max_concurrent: Limit.default(null).describe(
    "Maximum number of GPUs per job on the orchestrator's own machine; null for no limit. Older servers omit it.",
  ),
  local_job_max_concurrent: Limit.default(1).describe(
    "Maximum number of jobs on the orchestrator's own machine. It never runs more than one; 0 disables it. Older servers omit it.",
  ),
});
export type Concurrency = z.output<typeof Concurrency>;

export const QueueView = z
  .object({
    ...Concurrency.shape,
    paused: z
      .object({
        note: z.string().nullable().describe('Note of the pause; null for none.'),
        by: z.string().describe('Name of the token that paused the queue.'),
        since: z.iso.datetime().describe('When the queue was paused.'),
      })
      .nullable()
      .describe(
        'The pause of the queue; null when it is not paused. While it is paused, no job is dispatched and running jobs continue.',
      ),
    total_pending: z.number().describe('Number of pending jobs, including those that wait for approval.'),
    total_blocked: z.number().describe('Number of jobs that wait for approval.'),
    total_running: z.number().describe('Number of live jobs.'),
  })
  .meta({ id: 'QueueView', description: 'State of the queue as a whole.' });
export type QueueView = z.output<typeof QueueView>;

export const LocalStats = z
  .object({
    running_jobs: z.number().describe('Number of live jobs on that machine.'),
    pending_jobs: z
      .number()
      .describe('Pending jobs with target `local`, except those that wait for approval.'),
    allocated_gpus: z.array(z.number()).describe('GPU numbers on that machine.'),
    available_gpus: z
      .array(z.number())
      .describe('Empty while the machine is busy, offline, draining or otherwise unavailable.'),
    total_gpus: z.number().describe('Number of GPUs of that machine.'),
    max_concurrent_gpus: z
      .number()
      .nullable()
      .describe('Maximum number of GPUs per job there; null for no limit.'),
    max_concurrent_jobs: z.number().nullable().describe('Maximum number of jobs there; null for no limit.'),
  })
  .meta({
    id: 'LocalStats',
    description: "GPUs and jobs of the orchestrator's own machine, with SimpleTuner's field names.",
  });
export type LocalStats = z.output<typeof LocalStats>;

export const WorkerCounts = z
  .object({
    total_workers: z.number().describe('Number of workers.'),
    idle_workers: z.number().describe('Number of idle workers.'),
    busy_workers: z.number().describe('Number of workers with a job.'),
    offline_workers: z.number().describe('Number of offline workers.'),
    draining_workers: z.number().describe('Number of draining workers.'),
    connecting_workers: z
      .number()
      .describe('Number of workers that are registered or expected, but have no command stream.'),
  })
  .meta({ id: 'WorkerCounts', description: 'Number of workers by status.' });
export type WorkerCounts = z.output<typeof WorkerCounts>;

export const JobCount = z.object({
  pending: z.number().describe('Number of pending jobs.'),
  running: z.number().describe('Number of live jobs.'),
});

/** Statistics of the queue. */
export const QueueStats = QueueView.extend({
  queue_depth: z.number().describe('Number of pending jobs, including blocked ones.'),
  running: z.number().describe('Number of live jobs.'),
  by_status: z
    .partialRecord(ShownStatus, z.number())
    .describe('Number of jobs by status; contains only statuses that occur.'),
  by_user: z.record(z.string(), JobCount).describe('Number of pending and live jobs by user.'),
  avg_wait_seconds: z
    .number()
    .nullable()
    .describe(
      'Average seconds in the queue of jobs that ended within the last 24 hours; null when none ended.',
    ),
  avg_run_seconds: z
    .number()
    .nullable()
    .describe(
      'Average run time in seconds of jobs that ended within the last 24 hours; null when none ended.',
    ),
  ended_24h: z
    .object({
      completed: z.number().describe('Number of completed jobs.'),
      failed: z.number().describe('Number of failed jobs.'),
      cancelled: z.number().describe('Number of cancelled jobs.'),
    })
    .describe('Jobs that ended within the last 24 hours, by final status.'),
  gpu_hours_24h: z
    .number()
    .describe('GPU time of jobs on workers within the last 24 hours, including running jobs.'),
  unsatisfiable: z
    .array(z.object({ job_id: JobId, count: z.number().describe('Number of jobs of that kind.') }))
    .describe(
      'Pending jobs that no worker could run even when idle: the first job of each kind, and the number of that kind.',
    ),
  waiting_for_offline: z
    .array(
      z.object({
        worker_id: WorkerId.describe('The oldest of these workers.'),
        worker_name: z.string().describe('Name of that worker.'),
        worker_count: z
          .number()
          .describe(
            'Number of offline workers that could run these jobs; 1 when the jobs depend on this worker alone.',
          ),
        job_id: JobId.describe('The first of these jobs.'),
        count: z.number().describe('Number of these jobs.'),
      }),
    )
    .default([])
    .describe(
      'Pending jobs that only offline workers could run, grouped by these workers. Older servers omit it.',
    ),
  local: LocalStats.nullable()
    .default(null)
    .describe(
      "GPUs and jobs of the server's own machine; zeros when no worker runs there. Null for tokens limited to their own jobs. Older servers omit it.",
    ),
  workers: WorkerCounts.nullable()
    .default(null)
    .describe(
      "Number of workers by status, without the server's own machine. Null for tokens limited to their own jobs. Older servers omit it.",
    ),
});
