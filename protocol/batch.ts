import { z } from 'zod';
import { JobId } from './ids.ts';
import { JobWarning } from './job.ts';
import { IdempotencyKey, SubmitRequest } from './submission.ts';

/** Maximum number of jobs in one call. One transaction stores all of them, and other calls wait for it. */
export const maxBatchJobs = 1_000;

/** Fields that a job of a batch must not set. `no_wait` is for single jobs; the others apply to the whole batch. */
const forbiddenFields = ['no_wait', 'dry_run', 'idempotency_key'] as const;

const BatchJob = SubmitRequest.superRefine((job, context) => {
  for (const field of forbiddenFields) {
    if (job[field] === false || job[field] === undefined) continue;
    const message =
      field === 'no_wait'
        ? 'cannot be set in a batch, because its jobs can always wait'
        : 'give it once, for the whole batch instead';
    context.addIssue({ code: 'custom', path: [field], message });
  }
});

export const BatchRequest = z.strictObject({
  jobs: z
    .array(BatchJob)
    .min(1)
    .max(maxBatchJobs)
    .describe(`Jobs to submit, at most ${maxBatchJobs}, each with the fields of a single submit.`),
  dry_run: z.boolean().default(false).describe('Check all jobs, but store nothing.'),
  idempotency_key: IdempotencyKey.optional().describe(
    'For 24 hours, the same key returns the same jobs. Equivalent to the header `Idempotency-Key`.',
  ),
});
export type BatchRequest = z.output<typeof BatchRequest>;

export const BatchReply = z.object({
  success: z.literal(true).describe('Always true.'),
  dry_run: z.boolean().describe('Whether nothing was submitted.'),
  idempotent_hit: z
    .boolean()
    .describe('The idempotency key already belongs to these jobs, so nothing was submitted.'),
  jobs: z
    .array(
      z.object({
        job_id: JobId.nullable().describe('Id of the job; null in a dry run.'),
        config_name: z.string().describe('Name of the config.'),
        name: z.string().nullable().describe('Name of the job; null for none.'),
      }),
    )
    .describe('Jobs in the order of the request.'),
  warnings: z.array(JobWarning).describe('Warnings about the configs, each of them once.'),
});
