import { z } from 'zod';
import { JobId, WorkerId } from './ids.ts';
import { ShownStatus } from './job.ts';
import { JobWait } from './job-wait.ts';

/**
 * What holds a job itself back, whoever is idle (docs/internals/semantics.md, section 6). Of several the summary tells the first of this
 * list.
 */
export const WaitCode = z.enum(['storage', 'approval', 'paused', 'target', 'limit', 'backoff', 'ahead']);

/** What a worker is checked for. `avoid_previous` alone keeps no job from it: another one is tried first. */
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
  /** Those of `JobWait`. */
  params: JobWait.shape.params.default({}),
  detail: z.string(),
});
export type WaitReason = Readonly<z.output<typeof WaitReason>>;

/** A check that a worker fails: what is wanted of it, and what is there, where that can be said. */
const WorkerReason = z.object({
  code: CheckCode,
  wanted: z.string().nullable(),
  there: z.string().nullable(),
  detail: z.string(),
});
export type WorkerReason = Readonly<z.output<typeof WorkerReason>>;

/** Why a job waits, as dispatch sees it at this moment. */
export const Explanation = z
  .object({
    /** Null for a job that was only tried out. */
    job_id: JobId.nullable(),
    status: ShownStatus,
    /** All of it in one line: the `reason` of the job. Null when it does not wait. */
    summary: z.string().nullable(),
    /** No worker that ever registered could take it, idle or not. */
    unsatisfiable: z.boolean(),
    /** 1 for the job that is taken next; null unless it waits for a worker. */
    position: z.number().nullable(),
    /** The first one is that of the summary. Empty when only workers are wanting. */
    reasons: z.array(WaitReason),
    /** Empty for a job that does not wait. */
    workers: z.array(
      z.object({
        worker_id: WorkerId,
        name: z.string(),
        /** Whether it is the orchestrator's own machine. */
        local: z.boolean(),
        /** Whether it would take the job now. */
        fits: z.boolean(),
        /** How many of the job's datasets its rig has; null for a job without data. Others are fetched first. */
        datasets: z.object({ here: z.number(), wanted: z.number() }).nullable().default(null),
        /** Every check that it fails. */
        reasons: z.array(WorkerReason),
      }),
    ),
    /** When it is likely to start; null when that is anybody's guess. */
    predicted_start: z
      .object({
        at: z.iso.datetime(),
        in_s: z.number(),
        guess: z.literal(true),
        /** What the guess rests on. */
        basis: z.string(),
      })
      .nullable(),
    /** Why there is no prediction; null when there is one. */
    no_prediction: z.string().nullable(),
  })
  .meta({ id: 'Explanation' });
export type Explanation = z.output<typeof Explanation>;
