import { z } from 'zod';
import { JobData } from './dataset.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';
import { JobWait } from './job-wait.ts';
import { LabelPatterns } from './labels.ts';
import { Progress } from './progress.ts';
import { RequestKind } from './requests.ts';

export const liveStatuses = ['dispatched', 'starting', 'running', 'recovering', 'cancelling'] as const;
export type LiveStatus = (typeof liveStatuses)[number];

export const finalStatuses = ['completed', 'failed', 'cancelled'] as const;
export type FinalStatus = (typeof finalStatuses)[number];

export const JobStatus = z.enum(['pending', ...liveStatuses, ...finalStatuses]);
export type JobStatus = z.infer<typeof JobStatus>;

/** Status for users: a pending job that waits for approval is `blocked`. */
export const ShownStatus = z.enum(['pending', 'blocked', ...liveStatuses, ...finalStatuses]);
export type ShownStatus = z.infer<typeof ShownStatus>;

/** Whether the job waits for a worker or for approval. */
export const isWaiting = (status: ShownStatus): status is 'pending' | 'blocked' =>
  status === 'pending' || status === 'blocked';

export const isFinal = (status: ShownStatus): status is FinalStatus =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Why an attempt did not complete: the closed list of docs/internals/semantics.md, section 2. */
export const FailureCause = z.enum([
  'trainer_exit',
  'trainer_signal',
  'out_of_memory',
  'worker_lost',
  'start_failed',
  'invalid_config',
  'timeout',
  'preempted',
  'rejected',
]);
export type FailureCause = z.infer<typeof FailureCause>;

/**
 * What an agent does with a trainer after T without contact: leave it running, or stop it so that two runs of one job never
 * overlap (docs/internals/semantics.md, section 3).
 */
export const OnLostContact = z.enum(['continue', 'stop']);
export type OnLostContact = z.infer<typeof OnLostContact>;

export const Target = z.enum(['auto', 'worker', 'local']);
export type Target = z.infer<typeof Target>;

/** 0 to 50; higher runs first. */
const Priority = z.number().int().min(0).max(50);

/** Named priorities in ascending order. */
export const priorities = { low: 0, normal: 10, high: 20, urgent: 30, critical: 40 } as const;

/** A number or a priority name. */
export const PriorityWord = z.union([
  Priority,
  z.enum(['low', 'normal', 'high', 'urgent', 'critical']).transform(name => priorities[name]),
]);

export function priorityName(priority: number): string {
  let name = 'low';
  for (const [word, least] of Object.entries(priorities)) if (priority >= least) name = word;
  return name;
}

/** A trainer's config or dataloader: an object defined by the trainer. The orchestrator stores and forwards it. */
export const TrainerConfig = z.record(z.string(), z.unknown());
export type TrainerConfig = Readonly<z.output<typeof TrainerConfig>>;

/** SimpleTuner's dataloaders are lists. */
export const Dataloader = z.union([z.array(z.unknown()), TrainerConfig]);

/** Texts of files that a config names, keyed by the paths in the config. */
export const ConfigFiles = z
  .record(z.string().min(1).max(1_000), z.string().max(1_000_000))
  .refine(files => Object.keys(files).length <= 32, 'at most 32 files travel with a config')
  .refine(
    files => Object.values(files).reduce((sum, text) => sum + text.length, 0) <= 1_000_000,
    'the files of a config have at most 1,000,000 characters in all',
  );

/** Requirements of a job for its worker. */
export interface Requirements {
  readonly target: Target;
  /** Minimum number of GPUs of the worker. */
  readonly gpuCount: number;
  /** Number of GPUs that the job uses, when the config names fewer than the worker must have. */
  readonly gpusUsed?: number;
  /** Nominal GB per GPU; 0 for any. */
  readonly vramGb: number;
  /** `cuda`, `rocm`, `mps`, ...; null for any. */
  readonly accelerator: string | null;
  /** Requires a worker that stops its trainer after contact is lost. SimpleTuner's own worker does not. */
  readonly guarded: boolean;
  /** Trainer of the config; absent for a test of the fleet, which every worker can run. */
  readonly trainer?: string;
  /** Dataset versions that the worker must fetch; absent for a job without data. */
  readonly data?: readonly string[];
  /** Restricted config keys that the job uses (config-policy), sorted. */
  readonly configKeys: readonly string[];
  readonly labels: LabelPatterns;
}

const Time = z.iso.datetime();

export const AttemptView = z
  .object({
    attempt: z.number(),
    attempt_id: AttemptId,
    worker_id: WorkerId,
    worker_name: z.string().nullable(),
    /** Whether that worker was deleted since. */
    worker_deleted: z.boolean().default(false),
    offered_at: Time,
    started_at: Time.nullable(),
    ended_at: Time.nullable(),
    /** Outcome: a final status, `requeued`, `given_up` or `withdrawn`; null while the attempt is active. */
    outcome: z.string().nullable(),
    cause: FailureCause.nullable(),
    error_message: z.string().nullable(),
    exit_code: z.number().nullable(),
    signal: z.string().nullable(),
    /** Where the attempt resumed, if an earlier one had made progress; null for a first attempt. */
    resumed: z
      .object({
        /** Null when no checkpoint existed, so the attempt started from scratch. */
        checkpoint: z.string().nullable(),
        step: z.number().nullable(),
        /** Completed steps that had to be repeated; null when unknown. */
        steps_lost: z.number().nullable(),
      })
      .nullable(),
    /** Result that arrived after another attempt had taken over. It is stored but changes nothing. */
    late_result: z.object({ at: Time, status: z.string(), exit_code: z.number().nullable() }).nullable(),
  })
  .meta({ id: 'AttemptView' });
export type AttemptView = z.output<typeof AttemptView>;

/** Describes what a recovering or cancelling job waits for. */
const Hold = z.object({
  /** `silent`: its worker sends no heartbeat. `unconfirmed`: the worker has not confirmed that the trainer ended. */
  kind: z.enum(['silent', 'unconfirmed']),
  /** Time of the worker's last contact, or of the stop request. */
  since: Time,
  /** When the job is moved to another worker; null without a deadline. */
  until: Time.nullable(),
  /** Whether a user may already end the wait (`POST .../release`). */
  releasable: z.boolean(),
});
export type Hold = z.output<typeof Hold>;

export const Approval = z.enum(['wanted', 'given']);
export type Approval = z.infer<typeof Approval>;

export const JobView = z
  .object({
    id: JobId,
    job_id: JobId,
    /** `blocked`: waits for approval. */
    status: ShownStatus,
    config_name: z.string(),
    target: Target,
    worker_labels: LabelPatterns,
    gpu_count: z.number(),
    /** Nominal GB per GPU; 0 for any. */
    gpu_vram_gb: z.number(),
    accelerator: z.string().nullable(),
    /** GPU numbers of a live job on its worker; null for other jobs. */
    allocated_gpus: z.array(z.number()).nullable(),
    /** Owner: name of the token that submitted the job. */
    user: z.string(),
    /** Team of that token at submission; null for none. */
    team: z.string().nullable(),
    priority: z.number(),
    priority_name: z.string(),
    /** Number of priority levels by which a long wait has raised the job. */
    boosts: z.number(),
    /** Whether a user moved it to the top of the queue. */
    is_top: z.boolean(),
    /** `wanted`: waits for approval; null when none is needed. */
    approval: Approval.nullable(),
    /** The job that this one retries. */
    retry_of: JobId.nullable(),
    /** Position in the queue, 1 for the next job; null unless pending and approved. */
    position: z.number().nullable(),
    worker_id: WorkerId.nullable(),
    worker_name: z.string().nullable(),
    /** Whether that worker was deleted since. */
    worker_deleted: z.boolean().default(false),
    attempt: z.number(),
    max_attempts: z.number(),
    queued_at: Time,
    started_at: Time.nullable(),
    completed_at: Time.nullable(),
    progress: Progress.nullable(),
    error_message: z.string().nullable(),
    cause: FailureCause.nullable(),
    /** Why a pending job waits, as a sentence. */
    reason: z.string().nullable(),
    /** The same for programs; null when `reason` is null. */
    wait: JobWait.nullable().default(null),
    /** Maximum run time of an attempt, in seconds. */
    timeout_s: z.number().nullable(),
    /** Causes to retry in addition to those outside the trainer. */
    retry_on: z.array(FailureCause),
    on_lost_contact: OnLostContact,
    /** Actions that the trainer supports while it runs, according to its config. */
    requests: z.array(RequestKind),
    /** Describes what a recovering or cancelling job waits for; null for other jobs. */
    hold: Hold.nullable(),
  })
  .meta({ id: 'JobView' });
export type JobView = z.output<typeof JobView>;

/** Files of a completed job that its worker has not uploaded yet. */
const Outstanding = z.object({
  /** Null until the worker reports the number. */
  files: z.number().nullable(),
  bytes: z.number().nullable(),
  /** Why the last upload failed; null when none failed. */
  reason: z.string().nullable(),
  since: Time,
});
export type Outstanding = z.output<typeof Outstanding>;

/** Information for the owner of a job that runs nevertheless. Newer servers may send other codes. */
export const JobWarning = z
  .object({
    /**
     * About a worker: `outputs_old_worker`, `outputs_off`, `outputs_checkpoints_only`, `outputs_no_folder` or
     * `outputs_own_folder`. About a config key that the trainer does not know: `config_key_refused` or `config_key_ignored`.
     */
    code: z.string(),
    /** Empty when the warning concerns the config. */
    worker_name: z.string(),
    /** Display name of the trainer, when the warning concerns a config key. */
    trainer: z.string().optional(),
    /** Config key, such as `config.process.0.train.step`. */
    key: z.string().optional(),
    /** The key that was probably meant; null when none is similar. */
    nearest_key: z.string().nullable().optional(),
    /** One sentence on the effect and one on what to do. */
    message: z.string(),
  })
  .meta({ id: 'JobWarning' });
export type JobWarning = z.output<typeof JobWarning>;

/** A version of a dataset that a job uses. */
export const JobDataView = JobData.extend({
  /** Null when the version is not stored, or when the job's owner may no longer use it. */
  dataset: z.object({ id: z.number(), name: z.string() }).nullable(),
}).meta({ id: 'JobDataView' });
export type JobDataView = z.output<typeof JobDataView>;

export const JobDetail = JobView.extend({
  attempts: z.array(AttemptView),
  /** Concerns the current or last worker; older servers omit it. */
  warnings: z.array(JobWarning).default([]),
  /** Null when every file was uploaded or given up; older servers omit it. */
  outstanding: Outstanding.nullable().default(null),
  /** Training data that the worker fetches; older servers omit it. */
  data: z.array(JobDataView).default([]),
}).meta({ id: 'JobDetail' });
export type JobDetail = z.output<typeof JobDetail>;
