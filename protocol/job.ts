import { z } from 'zod';
import { JobData } from './dataset.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';
import { SweepValues } from './job-about.ts';
import { JobChild, JobParents } from './job-dependencies.ts';
import { JobInput } from './job-inputs.ts';
import { ShownStatus } from './job-status.ts';
import { JobWait } from './job-wait.ts';
import { Progress } from './reports.ts';
import { RequestKind } from './requests.ts';
import { RunLink } from './run-link.ts';
import { LabelPatterns } from './text.ts';

export { finalStatuses, isFinal, isWaiting, JobStatus, liveStatuses, ShownStatus } from './job-status.ts';
export type { FinalStatus, LiveStatus } from './job-status.ts';

export const FailureCause = z
  .enum([
    'trainer_exit',
    'trainer_signal',
    'out_of_memory',
    'worker_lost',
    'start_failed',
    'invalid_config',
    'timeout',
    'preempted',
    'rejected',
  ])
  .describe('Why an attempt did not complete.');
export type FailureCause = z.infer<typeof FailureCause>;

export const OnLostContact = z
  .enum(['continue', 'stop'])
  .describe(
    'Action of the worker when it loses contact with the orchestrator: `continue` leaves the trainer running, `stop` ends it.',
  );
export type OnLostContact = z.infer<typeof OnLostContact>;

export const Target = z
  .enum(['auto', 'worker', 'local'])
  .describe(
    "Where the job may run: `worker` excludes the orchestrator's own machine, `local` allows only that machine, `auto` allows both.",
  );
export type Target = z.infer<typeof Target>;

/** A priority from 0 to 50. Jobs with a higher priority run first. */
const Priority = z.number().int().min(0).max(50);

/** Named priorities in ascending order. */
export const priorities = { low: 0, normal: 10, high: 20, urgent: 30, critical: 40 } as const;

export const PriorityWord = z
  .union([
    Priority,
    z.enum(['low', 'normal', 'high', 'urgent', 'critical']).transform(name => priorities[name]),
  ])
  .describe(
    'Priority from 0 to 50, or one of its names: `low` (0), `normal` (10), `high` (20), `urgent` (30), `critical` (40). Higher runs first.',
  );

/** Returns the name of the highest named priority that this one reaches. */
export function priorityName(priority: number): string {
  let name = 'low';
  for (const [word, min] of Object.entries(priorities)) if (priority >= min) name = word;
  return name;
}

export const TrainerConfig = z
  .record(z.string(), z.unknown())
  .describe('A config as an object that the trainer defines.');
export type TrainerConfig = Readonly<z.output<typeof TrainerConfig>>;

export const Dataloader = z
  .union([z.array(z.unknown()), TrainerConfig])
  .describe('A dataloader that the trainer defines: a list or an object.');

export const ConfigFiles = z
  .record(z.string().min(1).max(1_000), z.string().max(1_000_000))
  .refine(files => Object.keys(files).length <= 32, 'a config can have at most 32 files')
  .refine(
    files => Object.values(files).reduce((sum, text) => sum + text.length, 0) <= 1_000_000,
    'the files of a config can have at most 1,000,000 characters in total',
  )
  .describe(
    'Texts of files that the config names, keyed by the paths in the config. At most 32 files and 1,000,000 characters.',
  );

export const NodeCount = z
  .int()
  .min(1)
  .max(256)
  .describe(
    'Number of machines that train together; defaults to 1. They are that many workers, or one pool allocation with that many machines. Each has `gpu_count` GPUs.',
  );

/** Requirements of a job for its worker. */
export interface Requirements {
  readonly target: Target;
  /** Minimum number of GPUs of the worker. */
  readonly gpuCount: number;
  /** Number of GPUs that the job uses, if that is less than `gpuCount`. */
  readonly gpusUsed?: number;
  /** Minimum nominal memory per GPU in GB; 0 for any. */
  readonly vramGb: number;
  /** `cuda`, `rocm`, `mps`, ...; null for any. */
  readonly accelerator: string | null;
  /** Requires a worker that can stop its trainer after contact is lost. SimpleTuner's own worker cannot. */
  readonly guarded: boolean;
  /** Number of machines that train together; absent for one. */
  readonly nodes?: number;
  /** Trainer of the config; absent for a fleet test, which runs no trainer. Every worker can run it. */
  readonly trainer?: string;
  /** Dataset versions that the worker must fetch; absent for a job without data. */
  readonly data?: readonly string[];
  /** Whether the worker must fetch files of other jobs; absent for a job without inputs. */
  readonly inputs?: true;
  /** Restricted config keys that the job uses, sorted (see config-policy.ts). */
  readonly configKeys: readonly string[];
  readonly labels: LabelPatterns;
}

const Time = z.iso.datetime();

const NodeView = z.object({
  rank: z.number().describe('Number of the machine; 0 is the one whose reports decide about the job.'),
  worker_id: WorkerId,
  worker_name: z.string().nullable().describe('Name of the worker; null when unknown.'),
  state: z
    .enum(['offered', 'starting', 'ready', 'running', 'stopping', 'ended'])
    .describe(
      '`ready`: waits for the other workers. `stopping`: the attempt has ended, and this worker has not confirmed that its trainer has ended too.',
    ),
  outcome: z
    .enum(['completed', 'failed', 'stopped', 'lost', 'withdrawn'])
    .nullable()
    .describe(
      'How the machine ended; null until it has ended, and always for rank 0. `stopped`: because the attempt ended. `withdrawn`: it did not acknowledge the offer.',
    ),
  error_message: z.string().nullable().describe('Error of this machine as text; null for none.'),
});
export type NodeView = z.output<typeof NodeView>;

export const AttemptView = z
  .object({
    attempt: z.number().describe('Number of the attempt, starting at 1.'),
    attempt_id: AttemptId,
    worker_id: WorkerId,
    worker_name: z.string().nullable().describe('Name of the worker; null when unknown.'),
    worker_deleted: z.boolean().default(false).describe('Whether that worker was deleted since.'),
    offered_at: Time.describe('When the job was sent to the worker.'),
    started_at: Time.nullable().describe('When the trainer started; null when it has not.'),
    ended_at: Time.nullable().describe('When the attempt ended; null while it is active.'),
    outcome: z
      .string()
      .nullable()
      .describe(
        'Outcome of the attempt: a final status, `requeued`, `given_up` or `withdrawn`; null while the attempt is active.',
      ),
    cause: FailureCause.nullable(),
    used_retry: z
      .boolean()
      .default(false)
      .describe(
        "Whether its end used one of the job's retries. A preemption uses no retry if the trainer had time to save.",
      ),
    error_message: z.string().nullable().describe('Error of the attempt as text; null for none.'),
    exit_code: z
      .number()
      .nullable()
      .describe('Exit code of the trainer; null when it has not exited with one.'),
    signal: z
      .string()
      .nullable()
      .describe('Signal that ended the trainer, such as `SIGKILL`; null for none.'),
    resumed: z
      .object({
        checkpoint: z
          .string()
          .nullable()
          .describe(
            'Checkpoint from which the attempt resumed; null when none existed, so that it started from scratch.',
          ),
        step: z.number().nullable().describe('Step of that checkpoint; null when unknown.'),
        steps_lost: z
          .number()
          .nullable()
          .describe('Completed steps that had to be repeated; null when unknown.'),
      })
      .nullable()
      .describe('Where the attempt resumed, if an earlier one had made progress; null for a first attempt.'),
    late_result: z
      .object({
        at: Time.describe('When the result arrived.'),
        status: z.string().describe('Status in the late result.'),
        exit_code: z.number().nullable().describe('Exit code in the late result; null for none.'),
      })
      .nullable()
      .describe(
        'Result that arrived after another attempt had taken over. It is stored but changes nothing.',
      ),
    links: z
      .array(RunLink)
      .default([])
      .describe('Links to the run of the attempt at experiment trackers, in order; at most 4.'),
    nodes: z
      .array(NodeView)
      .default([])
      .describe('Workers that trained the job together, by rank; empty for an attempt on one worker.'),
  })
  .meta({ id: 'AttemptView', description: 'An attempt at a job.' });
export type AttemptView = z.output<typeof AttemptView>;

/** The wait of a recovering or cancelling job. */
const Hold = z.object({
  kind: z
    .enum(['silent', 'unconfirmed'])
    .describe(
      '`silent`: its worker sends no heartbeat. `unconfirmed`: the worker has not confirmed that the trainer ended.',
    ),
  since: Time.describe("Time of the worker's last contact, or of the stop request."),
  until: Time.nullable().describe('When the job is moved to another worker; null without a deadline.'),
  releasable: z.boolean().describe('Whether a user may already end the wait (`POST .../release`).'),
});
export type Hold = z.output<typeof Hold>;

export const Approval = z
  .enum(['wanted', 'given'])
  .describe('`wanted`: the job waits for approval. `given`: it was approved.');
export type Approval = z.infer<typeof Approval>;

/** Adds values that the server computes to the progress that an agent reports. */
export const JobProgress = Progress.extend({
  best_loss: z
    .number()
    .optional()
    .describe(
      'Lowest loss of all attempts: the lowest evaluation loss, or else the lowest mean training loss over a tenth of an attempt. Absent without a curve of the loss.',
    ),
  best_loss_key: z.string().optional().describe('Key of the curve of `best_loss`, such as `eval_loss`.'),
}).meta({ id: 'JobProgress', description: 'Progress of a job. Every field is optional.' });
export type JobProgress = Readonly<z.output<typeof JobProgress>>;

export const JobView = z
  .object({
    id: JobId,
    job_id: JobId.describe('Id of the job; the same as `id`.'),
    status: ShownStatus.describe('Status of the job; `blocked` means that it waits for approval.'),
    config_name: z.string().describe('Name of the config, or the name given with an inline config.'),
    name: z
      .string()
      .nullable()
      .default(null)
      .describe('Name that people gave the job; null to show the name of the config.'),
    tags: z.array(z.string()).default([]).describe('Words to find the job by.'),
    group: z.string().nullable().default(null).describe('Group of jobs that belong together; null for none.'),
    sweep: SweepValues.nullable().default(null),
    template: z
      .string()
      .nullable()
      .default(null)
      .describe('Template that the job was submitted from, by its name then; null for none.'),
    target: Target,
    worker_labels: LabelPatterns,
    gpu_count: z.number().describe('Minimum number of GPUs of the worker.'),
    num_nodes: z.number().default(1).describe('Number of machines that train together.'),
    gpu_vram_gb: z.number().describe('Nominal GB per GPU; 0 for any.'),
    accelerator: z
      .string()
      .nullable()
      .describe('Accelerator that the job requires, such as `cuda`; null for any.'),
    allocated_gpus: z
      .array(z.number())
      .nullable()
      .describe('GPU numbers of a live job on its worker; null for other jobs.'),
    user: z.string().describe('Owner: name of the token that submitted the job.'),
    team: z.string().nullable().describe('Team of that token at submission; null for none.'),
    priority: z.number().describe('Priority from 0 to 50; higher runs first.'),
    priority_name: z.string().describe('Name of the highest named priority that this one reaches.'),
    boosts: z.number().describe('Number of priority levels by which a long wait has raised the job.'),
    is_top: z.boolean().describe('Whether a user moved it to the top of the queue.'),
    approval: Approval.nullable().describe('`wanted`: waits for approval; null when none is needed.'),
    retry_of: JobId.nullable().describe('The job that this one retries.'),
    after: JobParents.nullable()
      .default(null)
      .describe('The jobs that must end before this one starts; null for none. Older servers omit it.'),
    position: z
      .number()
      .nullable()
      .describe(
        'Position in the queue, 1 for the next job; null unless pending, approved and not waiting for other jobs.',
      ),
    worker_id: WorkerId.nullable().describe('Worker of the current or last attempt; null before the first.'),
    worker_name: z.string().nullable().describe('Name of that worker; null when there is none.'),
    worker_deleted: z.boolean().default(false).describe('Whether that worker was deleted since.'),
    other_workers: z
      .array(
        z.object({
          worker_id: WorkerId,
          worker_name: z.string().nullable().describe('Name of the worker; null when unknown.'),
        }),
      )
      .optional()
      .describe('The other workers of an attempt on several workers; omitted when there are none.'),
    attempt: z.number().describe('Number of the current or last attempt; 0 before the first.'),
    max_attempts: z.number().describe('Number of attempts after which a failure is final.'),
    queued_at: Time.describe('When the job was submitted.'),
    started_at: Time.nullable().describe('When the current or last attempt started; null before that.'),
    completed_at: Time.nullable().describe('When the job ended; null before that.'),
    progress: JobProgress.nullable().describe(
      'Latest progress of the trainer; null when it has reported none.',
    ),
    error_message: z.string().nullable().describe('Error of the last attempt as text; null for none.'),
    cause: FailureCause.nullable().describe(
      'Why the last attempt did not complete; null when there is no failure.',
    ),
    reason: z.string().nullable().describe('Why a pending job waits, as a sentence.'),
    wait: JobWait.nullable()
      .default(null)
      .describe('The reason in a form for programs; null when `reason` is null.'),
    timeout_s: z.number().nullable().describe('Maximum run time of an attempt, in seconds.'),
    retry_on: z
      .array(FailureCause)
      .describe(
        'Causes to retry. Failures outside the trainer, such as `worker_lost`, are always retried. `max_retries` limits both.',
      ),
    on_lost_contact: OnLostContact.describe(
      'Action of the worker when it loses contact with the orchestrator.',
    ),
    requests: z
      .array(RequestKind)
      .describe('Actions that the trainer supports while it runs, according to its config.'),
    links: z
      .array(RunLink)
      .default([])
      .describe('Links to the run of the current or last attempt at experiment trackers; at most 4.'),
    hold: Hold.nullable().describe('The wait of a recovering or cancelling job; null for other jobs.'),
  })
  .meta({ id: 'JobView', description: 'A job.' });
export type JobView = z.output<typeof JobView>;

/** Files of a completed job that its worker has not uploaded yet. */
const Outstanding = z.object({
  files: z.number().nullable().describe('Number of these files; null until the worker reports it.'),
  bytes: z.number().nullable().describe('Size of these files in bytes; null until the worker reports it.'),
  reason: z.string().nullable().describe('Why the last upload failed; null when none failed.'),
  since: Time.describe('When the job completed, or when the files were last reported.'),
});
export type Outstanding = z.output<typeof Outstanding>;

export const JobWarning = z
  .object({
    code: z
      .string()
      .describe(
        'About a worker: `outputs_old_worker`, `outputs_off`, `outputs_checkpoints_only`, `outputs_no_folder` or `outputs_own_folder`. About a config key that the trainer does not know: `config_key_refused` or `config_key_ignored`.',
      ),
    worker_name: z.string().describe('Name of the worker; empty when the warning concerns the config.'),
    trainer: z
      .string()
      .optional()
      .describe('Display name of the trainer, when the warning concerns a config key.'),
    key: z.string().optional().describe('Config key, such as `config.process.0.train.step`.'),
    nearest_key: z
      .string()
      .nullable()
      .optional()
      .describe('The key that was probably meant; null when none is similar.'),
    message: z.string().describe('One sentence on the effect and one on what to do.'),
  })
  .meta({
    id: 'JobWarning',
    description:
      'Information for the owner of a job that runs nevertheless. Newer servers may send other codes.',
  });
export type JobWarning = z.output<typeof JobWarning>;

export const JobDataView = JobData.extend({
  dataset: z
    .object({
      id: z.number().describe('Id of the dataset version.'),
      name: z.string().describe('Name of the dataset.'),
    })
    .nullable()
    .describe("Null when the version is not stored, or when the job's owner may no longer use it."),
}).meta({ id: 'JobDataView', description: 'A version of a dataset that a job uses.' });
export type JobDataView = z.output<typeof JobDataView>;

/** GPU-hours, energy and cost of all attempts of a job together. */
export const JobUsage = z
  .object({
    gpu_hours: z.number().describe('GPU-hours of all attempts.'),
    energy_kwh: z
      .number()
      .nullable()
      .describe("Energy of the job's GPUs; null when its workers reported no power."),
    cost: z
      .number()
      .nullable()
      .describe(
        "Cost of the GPU-hours on workers of pools, and of the electricity on others, at today's prices. Null when no price is known.",
      ),
    currency: z.string().nullable().describe('Currency of the cost; null when none is set.'),
  })
  .meta({ id: 'JobUsage', description: 'GPU-hours, energy and cost of a job.' });
export type JobUsage = z.output<typeof JobUsage>;

export const JobDetail = JobView.extend({
  notes: z.string().nullable().default(null).describe('Notes of people about the job; null for none.'),
  attempts: z.array(AttemptView).describe('All attempts, oldest first.'),
  warnings: z
    .array(JobWarning)
    .default([])
    .describe('Warnings about the current or last worker, or about the config; older servers omit it.'),
  outstanding: Outstanding.nullable()
    .default(null)
    .describe(
      'Files of a completed job that its worker has not uploaded yet. Null when every file was uploaded or given up; older servers omit it.',
    ),
  data: z
    .array(JobDataView)
    .default([])
    .describe('Training data that the worker fetches; older servers omit it.'),
  inputs: z
    .array(JobInput)
    .default([])
    .describe('Files of other jobs that the job takes as its input; older servers omit it.'),
  children: z
    .array(JobChild)
    .default([])
    .describe('Jobs that start after this one, at most 100, oldest first. Older servers omit it.'),
  children_count: z
    .number()
    .default(0)
    .describe('Number of jobs that start after this one. Older servers omit it.'),
  usage: JobUsage.nullable().default(null).describe('What the job used; older servers omit it.'),
}).meta({ id: 'JobDetail', description: 'A job with its attempts.' });
export type JobDetail = z.output<typeof JobDetail>;
