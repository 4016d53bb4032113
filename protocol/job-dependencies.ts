import { z } from 'zod';
import { JobId } from './ids.ts';
import { ShownStatus } from './job-status.ts';

/** Jobs that wait for other jobs. A job that others wait for is their parent. */

export const AfterOn = z
  .enum(['success', 'end'])
  .describe(
    'Which end of the parents lets a job start: `success` only their completion, `end` any end, also a failure or a cancellation.',
  );
export type AfterOn = z.output<typeof AfterOn>;

/** Maximum number of parents of a job. */
const maxParents = 64;

/** Fields of a request that submits a job. */
export const afterFields = {
  after: z
    .array(JobId)
    .min(1)
    .max(maxParents)
    .refine(ids => new Set(ids).size === ids.length, 'the same job is given twice')
    .optional()
    .describe(
      `Ids of the jobs that must end before this one starts, at most ${maxParents}. Each of them must exist. Omitted to start as soon as a worker is free.`,
    ),
  after_on: AfterOn.optional().describe(
    'Which end of the jobs in `after` lets this one start: `success` (default) only their completion, `end` any end.',
  ),
} as const;

export const JobParents = z
  .object({
    on: AfterOn,
    parents: z
      .array(
        z.object({
          job_id: JobId.describe('Id of the parent, as given at the submission.'),
          name: z.string().nullable().describe('Name of the parent; null when it was deleted.'),
          status: ShownStatus.nullable().describe(
            'Status of the parent, or of its newest retry if it has one; null when it was deleted.',
          ),
          retry_id: JobId.nullable().describe('The newest retry of the parent; null for none.'),
          done: z.boolean().describe('Whether the job no longer waits for this parent.'),
          trouble: z
            .string()
            .nullish()
            .describe(
              'Why the job still waits although the parent has ended: its files are not uploaded yet, or it has no such file. Null or absent for none.',
            ),
        }),
      )
      .describe('The parents in the order of the submission.'),
  })
  .meta({ id: 'JobParents', description: 'The jobs that must end before a job starts.' });
export type JobParents = z.output<typeof JobParents>;

export const JobChild = z
  .object({
    job_id: JobId,
    name: z.string().describe('Name of the job.'),
    status: ShownStatus,
    on: AfterOn,
  })
  .meta({ id: 'JobChild', description: 'A job that starts after another one.' });
export type JobChild = z.output<typeof JobChild>;
