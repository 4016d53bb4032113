import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { LocalStats, QueueView, WorkerCounts } from './queue.ts';

export const JobCount = z.object({ pending: z.number(), running: z.number() });

/** The queue in numbers. */
export const QueueStats = QueueView.extend({
  queue_depth: z.number(),
  running: z.number(),
  /** Those alone that there are. */
  by_status: z.partialRecord(ShownStatus, z.number()),
  by_user: z.record(z.string(), JobCount),
  /** Of the jobs that ended within the last 24 hours; null when none did. */
  avg_wait_seconds: z.number().nullable(),
  avg_run_seconds: z.number().nullable(),
  ended_24h: z.object({ completed: z.number(), failed: z.number(), cancelled: z.number() }),
  /** What jobs had of their workers' GPUs within the last 24 hours: those that run now, too. */
  gpu_hours_24h: z.number(),
  /** Jobs that no worker could take, even if it were idle: the first of each kind, and how many of it wait. */
  unsatisfiable: z.array(z.object({ job_id: JobId, count: z.number() })),
  /** Pending jobs that only offline workers could take, by those workers. Older servers send none. */
  waiting_for_offline: z
    .array(
      z.object({
        /** The oldest of these workers. */
        worker_id: WorkerId,
        worker_name: z.string(),
        /** How many offline workers could take these jobs: 1 when the jobs wait only for this one. */
        worker_count: z.number(),
        /** The first of the jobs. */
        job_id: JobId,
        count: z.number(),
      }),
    )
    .default([]),
  /** The server's own machine, with zeros where no worker runs there. Older servers send neither of these two; tokens for own jobs get null. */
  local: LocalStats.nullable().default(null),
  /** Workers by status, without the orchestrator's own machine. */
  workers: WorkerCounts.nullable().default(null),
});
