import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { LocalStats, QueueView, WorkerCounts } from './queue.ts';

export const JobCount = z.object({ pending: z.number(), running: z.number() });

/** Statistics of the queue. */
export const QueueStats = QueueView.extend({
  queue_depth: z.number(),
  running: z.number(),
  /** Contains only statuses that occur. */
  by_status: z.partialRecord(ShownStatus, z.number()),
  by_user: z.record(z.string(), JobCount),
  /** Averages over jobs that ended within the last 24 hours; null when none ended. */
  avg_wait_seconds: z.number().nullable(),
  avg_run_seconds: z.number().nullable(),
  ended_24h: z.object({ completed: z.number(), failed: z.number(), cancelled: z.number() }),
  /** GPU time of jobs on workers within the last 24 hours, including running jobs. */
  gpu_hours_24h: z.number(),
  /** Pending jobs that no worker could run even when idle: the first job of each kind, and the number of that kind. */
  unsatisfiable: z.array(z.object({ job_id: JobId, count: z.number() })),
  /** Pending jobs that only offline workers could run, grouped by these workers. Older servers omit it. */
  waiting_for_offline: z
    .array(
      z.object({
        /** The oldest of these workers. */
        worker_id: WorkerId,
        worker_name: z.string(),
        /** Number of offline workers that could run these jobs; 1 when the jobs depend on this worker alone. */
        worker_count: z.number(),
        /** The first of these jobs. */
        job_id: JobId,
        count: z.number(),
      }),
    )
    .default([]),
  /**
   * The server's own machine; zeros when no worker runs there. Older servers omit this field and `workers`. Tokens limited to
   * their own jobs get null.
   */
  local: LocalStats.nullable().default(null),
  /** Workers by status, without the orchestrator's own machine. */
  workers: WorkerCounts.nullable().default(null),
});
