import { z } from 'zod';
import { Explanation } from './explain.ts';
import { JobId, WorkerId } from './ids.ts';
import { finalStatuses, JobWarning } from './job.ts';

const Accepted = z.object({
  success: z.literal(true).describe('Always true.'),
  job_id: JobId,
  idempotent_hit: z
    .boolean()
    .optional()
    .describe('The idempotency key already belongs to this job, so nothing was submitted.'),
  status: z
    .enum(['running', 'queued', 'blocked', ...finalStatuses])
    .describe('`blocked`: waits for approval. A job found by its idempotency key may already have ended.'),
  allocated_worker_id: WorkerId.nullable().describe('Worker that got the job; null when the job is pending.'),
  allocated_gpus: z
    .array(z.number())
    .nullable()
    .describe('GPU numbers of the job on that worker; null when the job is pending.'),
  queue_position: z
    .number()
    .nullable()
    .describe('Position in the queue, 1 for the next job; null unless the job is pending and approved.'),
  reason: z.string().nullable().describe('Why the job waits, as a sentence; null when it does not wait.'),
  warnings: z
    .array(JobWarning)
    .optional()
    .describe('Warnings about the config, and about the worker that takes the job; older servers omit it.'),
});

/** Response to a request with `no_wait` when no worker can start the job immediately. No job was created. */
const Rejected = z.object({
  success: z.literal(false).describe('Always false: no job was created.'),
  job_id: z.null().describe('Always null.'),
  status: z.literal('rejected').describe('Always `rejected`.'),
  allocated_worker_id: z.null().describe('Always null.'),
  allocated_gpus: z.null().describe('Always null.'),
  queue_position: z.null().describe('Always null.'),
  reason: z.string().nullable().describe('Why no worker can take the job at once.'),
});

export const Submitted = z.discriminatedUnion('success', [Accepted, Rejected]);

const EarlierRuns = z
  .object({
    runs: z.number().int().describe('Number of completed jobs that the figures are from, 1 to 8.'),
    expected_s: z
      .number()
      .nullable()
      .describe('Expected run time of the job in seconds, for its number of steps; null if unknown.'),
    peak_memory_gb: z
      .number()
      .nullable()
      .describe('Highest memory use of one GPU during these runs, in GiB; null if unknown.'),
    output_bytes: z
      .number()
      .nullable()
      .describe('Largest total size of the files that one of these runs uploaded; null if none did.'),
  })
  .meta({
    id: 'EarlierRuns',
    description:
      'Figures of completed jobs with the same trainer, model, resolution, batch size, rank, optimizer, precision and number of GPUs.',
  });
export type EarlierRuns = z.output<typeof EarlierRuns>;

/**
 * Result of a `dry_run`: the result that the submission would have now, and why. `rejected`: no job would be created.
 */
export const DryRunResult = z.object({
  success: z.literal(true).describe('Always true.'),
  dry_run: z.literal(true).describe('Always true.'),
  job_id: z.null().describe('Always null, because no job was created.'),
  status: z
    .enum(['running', 'queued', 'blocked', 'rejected'])
    .describe('Status that the job would get. `rejected`: no job would be created.'),
  allocated_worker_id: WorkerId.nullable().describe(
    'Worker that would get the job; null when the job would wait.',
  ),
  allocated_gpus: z
    .array(z.number())
    .nullable()
    .describe('GPU numbers that the job would get; null when the job would wait.'),
  queue_position: z
    .number()
    .nullable()
    .describe('Position that the job would get; null when it would not wait for a worker.'),
  reason: z.string().nullable().describe('Why the job would wait, as a sentence; null when it would not.'),
  explanation: Explanation.describe('Why the job would get this status.'),
  warnings: z
    .array(JobWarning)
    .optional()
    .describe(
      'Warnings about the config, and about the worker that would take the job or every worker that could; older servers omit it.',
    ),
  needs: z
    .object({
      trainer: z
        .string()
        .nullable()
        .describe('Trainer of the config; null for a test of the fleet, which every worker can run.'),
      gpu_count: z.number().describe('Number of GPUs that the job needs.'),
      files: z.array(z.string()).describe('Files sent with the job, as named in the config.'),
      data: z.array(z.string()).describe('Paths of training data that must exist on the rig.'),
    })
    .optional()
    .describe('Requirements of the config; older servers omit it.'),
  earlier: EarlierRuns.nullish().describe(
    'Figures of earlier runs with a similar config; null when there are none. Older servers omit it.',
  ),
  checks_keys: z
    .boolean()
    .optional()
    .describe(
      'Whether a worker has reported the keys of the trainer, so that `warnings` names unknown ones; older servers omit it.',
    ),
});
