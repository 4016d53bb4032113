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

/** What people and scripts see: a pending job that waits for approval is `blocked`. */
export const ShownStatus = z.enum(['pending', 'blocked', ...liveStatuses, ...finalStatuses]);
export type ShownStatus = z.infer<typeof ShownStatus>;

/** Waits for a worker, or for approval. */
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
 * What an agent does with a trainer when T has passed without contact: leave it running, or stop it, so that never two
 * runs of one job overlap (docs/internals/semantics.md, section 3).
 */
export const OnLostContact = z.enum(['continue', 'stop']);
export type OnLostContact = z.infer<typeof OnLostContact>;

export const Target = z.enum(['auto', 'worker', 'local']);
export type Target = z.infer<typeof Target>;

/** 0 to 50, higher first. */
const Priority = z.number().int().min(0).max(50);

/** By their names, lowest first. */
export const priorities = { low: 0, normal: 10, high: 20, urgent: 30, critical: 40 } as const;

/** A number, or one of the names. */
export const PriorityWord = z.union([
  Priority,
  z.enum(['low', 'normal', 'high', 'urgent', 'critical']).transform(name => priorities[name]),
]);

export function priorityName(priority: number): string {
  let name = 'low';
  for (const [word, least] of Object.entries(priorities)) if (priority >= least) name = word;
  return name;
}

/** A trainer's config or dataloader: an object of the trainer's own making, carried and never interpreted. */
export const TrainerConfig = z.record(z.string(), z.unknown());
export type TrainerConfig = Readonly<z.output<typeof TrainerConfig>>;

/** SimpleTuner's are lists. */
export const Dataloader = z.union([z.array(z.unknown()), TrainerConfig]);

/** Texts of files that a config names, by the paths that it has for them. */
export const ConfigFiles = z
  .record(z.string().min(1).max(1_000), z.string().max(1_000_000))
  .refine(files => Object.keys(files).length <= 32, 'at most 32 files travel with a config')
  .refine(
    files => Object.values(files).reduce((sum, text) => sum + text.length, 0) <= 1_000_000,
    'the files of a config have at most 1,000,000 characters in all',
  );

/** What a job needs of the worker that takes it. */
export interface Requirements {
  readonly target: Target;
  /** A worker needs at least this many. */
  readonly gpuCount: number;
  /** How many the job uses, where its config names fewer GPUs than the worker needs to have. */
  readonly gpusUsed?: number;
  /** GB of each GPU, as they are sold; 0 for any. */
  readonly vramGb: number;
  /** `cuda`, `rocm`, `mps`, ...; null for any. */
  readonly accelerator: string | null;
  /** A worker that stops its trainer when contact is lost: SimpleTuner's own does not. */
  readonly guarded: boolean;
  /** The trainer that the config is for; left out for a test of the fleet, which every worker can run. */
  readonly trainer?: string;
  /** Versions of the datasets that the worker has to fetch; left out for a job without data. */
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
    /** Whether that worker has been deleted since. */
    worker_deleted: z.boolean().default(false),
    offered_at: Time,
    started_at: Time.nullable(),
    ended_at: Time.nullable(),
    /** How it ended: a final status, `requeued`, `given_up` or `withdrawn`; null while it lives. */
    outcome: z.string().nullable(),
    cause: FailureCause.nullable(),
    error_message: z.string().nullable(),
    exit_code: z.number().nullable(),
    signal: z.string().nullable(),
    /** What it went on from, when attempts before it had done something; null for the first one. */
    resumed: z
      .object({
        /** Null: there was none, and it began anew. */
        checkpoint: z.string().nullable(),
        step: z.number().nullable(),
        /** Steps that had been done and had to be done again; null where nobody knows. */
        steps_lost: z.number().nullable(),
      })
      .nullable(),
    /** What its worker reported after another attempt had taken over: kept, and changing nothing. */
    late_result: z.object({ at: Time, status: z.string(), exit_code: z.number().nullable() }).nullable(),
  })
  .meta({ id: 'AttemptView' });
export type AttemptView = z.output<typeof AttemptView>;

/** A job that waits for a word of its worker. */
const Hold = z.object({
  /** `silent`: its worker is; `unconfirmed`: the trainer's end is yet to be reported. */
  kind: z.enum(['silent', 'unconfirmed']),
  /** Since when: of the worker's last contact, or of the order to stop. */
  since: Time,
  /** When it is given up for another worker; null when nothing is due. */
  until: Time.nullable(),
  /** Whether a person may end the waiting (`POST .../release`) by now. */
  releasable: z.boolean(),
});
export type Hold = z.output<typeof Hold>;

export const Approval = z.enum(['wanted', 'given']);
export type Approval = z.infer<typeof Approval>;

export const JobView = z
  .object({
    id: JobId,
    job_id: JobId,
    /** `blocked`: it waits for approval. */
    status: ShownStatus,
    config_name: z.string(),
    target: Target,
    worker_labels: LabelPatterns,
    gpu_count: z.number(),
    /** GB of each GPU, as they are sold; 0 for any. */
    gpu_vram_gb: z.number(),
    accelerator: z.string().nullable(),
    /** The GPUs of its worker that a live job has, by their numbers there; null for every other. */
    allocated_gpus: z.array(z.number()).nullable(),
    /** Whose it is: the name of the token that it was submitted with. */
    user: z.string(),
    /** The team of that token when the job was submitted; null for none. */
    team: z.string().nullable(),
    priority: z.number(),
    priority_name: z.string(),
    /** How often it was raised by one name of priority, because it had waited for long. */
    boosts: z.number(),
    /** Whether somebody has moved it to the top of the queue. */
    is_top: z.boolean(),
    /** `wanted`: it is held back until somebody has approved of it; null when nobody needs to. */
    approval: Approval.nullable(),
    /** The job that this one was submitted again for. */
    retry_of: JobId.nullable(),
    /** 1 for the job that is taken next; null unless pending, or while its approval is wanted. */
    position: z.number().nullable(),
    worker_id: WorkerId.nullable(),
    worker_name: z.string().nullable(),
    /** Whether that worker has been deleted since. */
    worker_deleted: z.boolean().default(false),
    attempt: z.number(),
    max_attempts: z.number(),
    queued_at: Time,
    started_at: Time.nullable(),
    completed_at: Time.nullable(),
    progress: Progress.nullable(),
    error_message: z.string().nullable(),
    cause: FailureCause.nullable(),
    /** Why a pending job waits, in words. */
    reason: z.string().nullable(),
    /** The same for programs; null where `reason` is. */
    wait: JobWait.nullable().default(null),
    /** The longest that an attempt may run, in seconds. */
    timeout_s: z.number().nullable(),
    /** Causes that are tried again beside those outside the trainer. */
    retry_on: z.array(FailureCause),
    on_lost_contact: OnLostContact,
    /** What its trainer may be asked for while it runs, as its config says. */
    requests: z.array(RequestKind),
    /** What a recovering or cancelling job waits for; null for every other. */
    hold: Hold.nullable(),
  })
  .meta({ id: 'JobView' });
export type JobView = z.output<typeof JobView>;

/** Files of a completed job that its worker has not uploaded yet. */
const Outstanding = z.object({
  /** Null until the worker reports the count. */
  files: z.number().nullable(),
  bytes: z.number().nullable(),
  /** Why the last attempt to upload them failed, in words; null when nothing has failed. */
  reason: z.string().nullable(),
  since: Time,
});
export type Outstanding = z.output<typeof Outstanding>;

/** Something that a job's owner should know, although the job runs. Newer servers may send other codes. */
export const JobWarning = z
  .object({
    /**
     * `outputs_old_worker`, `outputs_off`, `outputs_checkpoints_only`, `outputs_no_folder` or `outputs_own_folder`: of a worker.
     * `config_key_refused` or `config_key_ignored`: the trainer does not know a key of the config.
     */
    code: z.string(),
    /** Empty when the warning is about the config. */
    worker_name: z.string(),
    /** By its title, when the warning is about a key of the config. */
    trainer: z.string().optional(),
    /** The key of the config, such as `config.process.0.train.step`. */
    key: z.string().optional(),
    /** The key that was probably meant; null when none resembles it. */
    nearest_key: z.string().nullable().optional(),
    /** A sentence about what happens, and one about what to do. */
    message: z.string(),
  })
  .meta({ id: 'JobWarning' });
export type JobWarning = z.output<typeof JobWarning>;

/** A version of a dataset that a job uses. */
export const JobDataView = JobData.extend({
  /** Null when the version is not stored, or when the job's user may not use it any more. */
  dataset: z.object({ id: z.number(), name: z.string() }).nullable(),
}).meta({ id: 'JobDataView' });
export type JobDataView = z.output<typeof JobDataView>;

export const JobDetail = JobView.extend({
  attempts: z.array(AttemptView),
  /** About its current or last worker; older servers leave it out. */
  warnings: z.array(JobWarning).default([]),
  /** Null when every file was uploaded or given up; older servers leave it out. */
  outstanding: Outstanding.nullable().default(null),
  /** The training data that the worker fetches; older servers leave it out. */
  data: z.array(JobDataView).default([]),
}).meta({ id: 'JobDetail' });
export type JobDetail = z.output<typeof JobDetail>;
