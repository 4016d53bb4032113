import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { LocalStats, QueueView, WorkerCounts } from './queue.ts';

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
