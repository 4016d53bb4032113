import { z } from 'zod';
import { JobId, LaunchId, PoolId, WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { JobWait } from './job-wait.ts';

export const WaitCode = z
  .enum(['storage', 'approval', 'after', 'paused', 'target', 'limit', 'backoff', 'ahead'])
  .describe('Why the job is blocked, independently of the workers.');

const CheckCode = z
  .enum([
    'never_registered',
    'offline',
    'draining',
    'busy',
    'settling',
    'no_stream',
    'leaving',
    'closed',
    'updating',
    'quarantined',
    'gpu_trouble',
    'local_limit',
    'target',
    'nodes',
    'gpu_count',
    'gpu_limit',
    'vram',
    'accelerator',
    'guard',
    'config_key',
    'data',
    'inputs',
    'trainer',
    'label',
    'avoid_previous',
  ])
  .describe('The check that the worker fails. `avoid_previous` alone does not prevent dispatch.');

const WaitReason = z.object({
  code: WaitCode,
  params: JobWait.shape.params.default({}),
  detail: z.string().describe('The reason as a sentence.'),
});
export type WaitReason = Readonly<z.output<typeof WaitReason>>;

/** A failed check of a worker, with the required and the actual value if the check compares values. */
const WorkerReason = z.object({
  code: CheckCode,
  wanted: z.string().nullable().describe('Value that the job requires; null when there is none.'),
  there: z.string().nullable().describe('Value that the worker has; null when there is none.'),
  detail: z.string().describe('The failed check as a sentence.'),
});
export type WorkerReason = Readonly<z.output<typeof WorkerReason>>;

export const Explanation = z
  .object({
    job_id: JobId.nullable().describe('Id of the job; null for a dry run.'),
    status: ShownStatus,
    summary: z
      .string()
      .nullable()
      .describe('One-line summary, the `reason` of the job; null when the job is not pending.'),
    unsatisfiable: z.boolean().describe('No registered worker could run the job, idle or not.'),
    position: z
      .number()
      .nullable()
      .describe('Position in the queue, 1 for the next job; null unless the job waits for a worker.'),
    reasons: z
      .array(WaitReason)
      .describe(
        'Reasons that block the job itself; the summary is the first of them. Empty when only the workers prevent the start.',
      ),
    workers: z
      .array(
        z.object({
          worker_id: WorkerId,
          name: z.string().describe('Name of the worker.'),
          local: z.boolean().describe("Whether the worker is the orchestrator's own machine."),
          fits: z.boolean().describe('Whether the worker would start the job now.'),
          datasets: z
            .object({
              here: z.number().describe("Number of the job's datasets on the rig."),
              wanted: z.number().describe('Number of datasets of the job.'),
            })
            .nullable()
            .default(null)
            .describe(
              "How many of the job's datasets the worker's rig already has. The rig fetches the others before the start. Null for a job without data.",
            ),
          reasons: z.array(WorkerReason).describe('All failed checks.'),
        }),
      )
      .describe('For each worker, why it cannot run the job. Empty unless the job is pending.'),
    pools: z
      .array(
        z.object({
          pool_id: PoolId,
          name: z.string().describe('Name of the pool.'),
          launch_id: LaunchId.nullable().describe('Launch that the job waits for; null for none.'),
          detail: z
            .string()
            .describe('Whether the pool orders a machine for the job, and why, as a sentence.'),
        }),
      )
      .default([])
      .describe(
        'For each pool, whether it orders a machine for the job. Empty without pools, and unless the job is pending.',
      ),
    predicted_start: z
      .object({
        at: z.iso.datetime().describe('Predicted time of the start.'),
        in_s: z.number().describe('Seconds until the predicted start.'),
        guess: z.literal(true).describe('Always true, because the time is an estimate.'),
        basis: z.string().describe('Basis of the prediction.'),
      })
      .nullable()
      .describe('Predicted start; null when it cannot be predicted.'),
    no_prediction: z.string().nullable().describe('Why there is no prediction; null when there is one.'),
  })
  .meta({ id: 'Explanation', description: 'Why a job is pending, as dispatch evaluates it at this moment.' });
export type Explanation = z.output<typeof Explanation>;
