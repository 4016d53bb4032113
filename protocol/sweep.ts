import { z } from 'zod';
import { SweepValue, SweepValues } from './job-about.ts';
import { JobId } from './ids.ts';
import { JobWarning } from './job.ts';
import { SubmitRequest } from './submission.ts';
import { maxSweepJobs, maxSweepKeys } from './sweep-limits.ts';
import { Line } from './text.ts';

/** A config key, and the values that a sweep gives it. */
export const SweepAxis = z
  .strictObject({
    key: Line.min(1)
      .max(200)
      .describe('Path of the value in the config, such as `learning_rate` or `config.process.0.train.lr`.'),
    values: z
      .array(SweepValue)
      .min(1)
      .max(maxSweepJobs)
      .refine(values => new Set(values).size === values.length, 'the same value is given twice')
      .describe('Values that it takes.'),
  })
  .meta({ id: 'SweepAxis', description: 'A value of a config, and the values that it takes in a sweep.' });
export type SweepAxis = z.output<typeof SweepAxis>;

/** Returns the number of jobs in the grid: one for each combination of values. */
export const countJobs = (axes: readonly SweepAxis[]): number =>
  axes.reduce((count, { values }) => count * values.length, 1);

/** A field of a request that submits a sweep. */
export const Sweep = z
  .array(SweepAxis)
  .min(1)
  .max(maxSweepKeys)
  .refine(axes => new Set(axes.map(({ key }) => key)).size === axes.length, 'the same key is given twice')
  .refine(axes => countJobs(axes) <= maxSweepJobs, `a sweep has at most ${maxSweepJobs} jobs`)
  .describe(`Values to try. One job is submitted for each combination, at most ${maxSweepJobs}.`);

export const SweepRequest = SubmitRequest.safeExtend({
  sweep: Sweep,
}).refine(body => !body.no_wait, {
  path: ['no_wait'],
  message: 'the jobs of a sweep may wait: no_wait is for a single job',
});
export type SweepRequest = z.output<typeof SweepRequest>;

export const SweepReply = z.object({
  success: z.literal(true).describe('Always true.'),
  dry_run: z.boolean().describe('Whether nothing was submitted.'),
  idempotent_hit: z
    .boolean()
    .describe('The idempotency key already belongs to these jobs, so nothing was submitted.'),
  group: z.string().nullable().describe('Group of the jobs; null if it was removed since.'),
  jobs: z
    .array(
      z.object({
        job_id: JobId.nullable().describe('Id of the job; null in a dry run.'),
        name: z.string().nullable().describe('Name of the job; null if it was removed since.'),
        sweep: SweepValues.nullable(),
      }),
    )
    .describe('Jobs in the order of the grid: the last key varies fastest.'),
  warnings: z.array(JobWarning).describe('Warnings about the config, each of them once.'),
});
