import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { JobWait } from './job-wait.ts';

/**
 * Blockers of a job itself, whichever workers are idle (docs/internals/semantics.md, section 6). The summary shows the first one
 * that applies, in this order.
 */
export const WaitCode = z.enum(['storage', 'approval', 'paused', 'target', 'limit', 'backoff', 'ahead']);

/** Checks of a worker. `avoid_previous` alone does not prevent dispatch: another worker is only preferred. */
const CheckCode = z.enum([
  'never_registered',
  'offline',
  'draining',
  'busy',
  'settling',
  'no_stream',
  'leaving',
  'quarantined',
  'gpu_trouble',
  'local_limit',
  'target',
  'gpu_count',
  'gpu_limit',
  'vram',
  'accelerator',
  'guard',
  'config_key',
  'data',
  'trainer',
  'label',
  'avoid_previous',
]);

const WaitReason = z.object({
  code: WaitCode,
  /** Same as in `JobWait`. */
  params: JobWait.shape.params.default({}),
  detail: z.string(),
});
export type WaitReason = Readonly<z.output<typeof WaitReason>>;

/** A failed check of a worker: the required and the actual value, where known. */
const WorkerReason = z.object({
  code: CheckCode,
  wanted: z.string().nullable(),
  there: z.string().nullable(),
  detail: z.string(),
});
export type WorkerReason = Readonly<z.output<typeof WorkerReason>>;

/** Why a job is pending, as dispatch evaluates it at this moment. */
export const Explanation = z
  .object({
    /** Null for a dry run. */
    job_id: JobId.nullable(),
    status: ShownStatus,
    /** One-line summary, the `reason` of the job; null when the job is not pending. */
    summary: z.string().nullable(),
    /** No registered worker could run the job, idle or not. */
    unsatisfiable: z.boolean(),
    /** Position in the queue, 1 for the next job; null unless the job waits for a worker. */
    position: z.number().nullable(),
    /** The first one is in the summary. Empty when only workers are the obstacle. */
    reasons: z.array(WaitReason),
    /** Empty unless the job is pending. */
    workers: z.array(
      z.object({
        worker_id: WorkerId,
        name: z.string(),
        /** Whether it is the orchestrator's own machine. */
        local: z.boolean(),
        /** Whether it would take the job now. */
        fits: z.boolean(),
        /**
         * How many of the job's datasets its rig already has; the others are fetched first. Null for a job without data.
         */
        datasets: z.object({ here: z.number(), wanted: z.number() }).nullable().default(null),
        /** All failed checks. */
        reasons: z.array(WorkerReason),
      }),
    ),
    /** Predicted start; null when it cannot be predicted. */
    predicted_start: z
      .object({
        at: z.iso.datetime(),
        in_s: z.number(),
        guess: z.literal(true),
        /** Basis of the prediction. */
        basis: z.string(),
      })
      .nullable(),
    /** Why there is no prediction; null when there is one. */
    no_prediction: z.string().nullable(),
  })
  .meta({ id: 'Explanation' });
export type Explanation = z.output<typeof Explanation>;
