import { z } from 'zod';
import { JobId, LaunchId, PoolId, WorkerId } from './ids.ts';
import { Line, Labels } from './text.ts';

const Time = z.iso.datetime();

/** A word of an engine's command line. It cannot begin with `-`, so no program takes it for an option. */
const Word = z
  .string()
  .regex(/^[\w.@:/+%=,*-]{1,200}$/, 'expected at most 200 letters, digits and . @ : / + % = , * _ -')
  .refine(word => !word.startsWith('-'), 'must not begin with "-"');

const word = (text: string) => Word.nullable().default(null).describe(text);

const Slurm = z.strictObject({
  kind: z.literal('slurm').describe('A Slurm cluster, by its command line.'),
  login: word('Host for `ssh`, such as `me@login.example.org`; null when `sbatch` is on this machine.'),
  partition: word('Partition; null for the default partition of the cluster.'),
  account: word('Account to charge; null for the default.'),
  qos: word('Quality of service; null for the default.'),
  gpu_type: word('Type in `--gres=gpu:TYPE:N`; null for any type.'),
  output: word(
    'File on the cluster for the output of each worker, such as `/home/me/trainyard-%j.log`; null to discard it. It says why a worker did not join.',
  ),
  constraint: word('Node features, as for `--constraint`; null for none.'),
  cpus_per_gpu: z
    .int()
    .min(1)
    .max(1_024)
    .nullable()
    .default(null)
    .describe('CPUs for each GPU; null for the default.'),
  memory_gb: z
    .int()
    .min(1)
    .max(65_536)
    .nullable()
    .default(null)
    .describe('Memory of each machine in GB; null for the default.'),
});

const Kubernetes = z.strictObject({
  kind: z.literal('kubernetes').describe('A Kubernetes cluster, by `kubectl`.'),
  context: word('Context of the kubeconfig; null for the current one.'),
  namespace: Word.default('default').describe('Namespace of the jobs.'),
  queue: word('Local queue of Kueue; null when the cluster does not use Kueue.'),
  image: Line.min(1).max(500).describe('Container image with the trainer, `curl` and a shell.'),
  gpu_resource: Word.default('nvidia.com/gpu').describe('Name of the GPU resource.'),
  node_selector: Labels.default({}).describe('Labels that the nodes must have.'),
  service_account: word('Service account of the pods; null for the default.'),
  cpus: z.int().min(1).max(1_024).nullable().default(null).describe('CPUs of each pod; null for no request.'),
  memory_gb: z
    .int()
    .min(1)
    .max(65_536)
    .nullable()
    .default(null)
    .describe('Memory of each pod in GB; null for no request.'),
});

const Command = z.strictObject({
  kind: z.literal('command').describe('Four programs of your own.'),
  programs: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'expected lower-case letters, digits, "_" and "-", at most 64')
    .describe(
      'Name of the folder below `engines` in the data folder that has `check`, `launch`, `list` and `end`.',
    ),
});

/** How a pool gets its machines. */
export const EngineSettings = z
  .discriminatedUnion('kind', [Slurm, Kubernetes, Command])
  .meta({ id: 'EngineSettings', description: 'The engine of the pool and its settings.' });
export type EngineSettings = Readonly<z.output<typeof EngineSettings>>;
export type SlurmSettings = Extract<EngineSettings, { kind: 'slurm' }>;
export type KubernetesSettings = Extract<EngineSettings, { kind: 'kubernetes' }>;
export type CommandSettings = Extract<EngineSettings, { kind: 'command' }>;

const Minute = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Hours of each day in a time zone. `from` after `to` means over midnight. */
export const Hours = z
  .strictObject({
    from: z.string().regex(Minute, 'expected HH:MM').describe('Start of the hours, `HH:MM`.'),
    to: z
      .string()
      .regex(Minute, 'expected HH:MM')
      .describe('End of the hours, `HH:MM`; before `from`: on the next day.'),
    days: z
      .array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']))
      .min(1)
      .max(7)
      .optional()
      .describe('Days on which the hours begin; all by default.'),
    time_zone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
      .default('UTC')
      .describe('IANA time zone, such as `Europe/Berlin`.'),
  })
  .refine(({ from, to }) => from !== to, 'the hours must not be empty: `from` equals `to`')
  .describe('Hours of the day.');
export type Hours = Readonly<z.output<typeof Hours>>;

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const seconds = (min: number, max: number) => z.int().min(min).max(max);

/** Limits and settings of a pool that do not depend on its engine. */
const settings = {
  gpus: z
    .int()
    .min(0)
    .max(64)
    .default(1)
    .describe('Most GPUs that one machine of the pool can have; 0 for machines without.'),
  nodes: z.int().min(1).max(256).default(1).describe('Most machines of one job.'),
  vram_gb: z
    .number()
    .min(0)
    .max(1_000)
    .default(0)
    .describe('Memory of each GPU in GB; 0 when unknown, which fits jobs without a wish.'),
  accelerator: z
    .string()
    .max(40)
    .nullable()
    .default('cuda')
    .describe('Accelerator of the machines, such as `cuda`; null when unknown.'),
  trainers: z
    .array(z.string().min(1).max(40))
    .max(32)
    .nullable()
    .default(null)
    .describe('Trainers on the machines; null when unknown, which fits every job.'),
  labels: Labels.default({}).describe('Labels that the workers of the pool get.'),
  config_keys: z
    .array(z.string().min(1).max(100))
    .max(64)
    .default([])
    .describe('Restricted config keys that the workers of the pool allow; none by default.'),
  max_launches: z.int().min(1).max(1_000).default(4).describe('Most open launches at once.'),
  max_waiting: z
    .int()
    .min(1)
    .max(1_000)
    .default(4)
    .describe("Most launches that wait in the engine's queue at once."),
  max_gpus: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .default(null)
    .describe('Most GPUs of all open launches; null for no limit.'),
  gpu_hours_per_day: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .default(null)
    .describe(
      'GPU-hours per day (UTC) after which the pool orders nothing until the next day; null for no budget.',
    ),
  price_per_gpu_hour: z
    .number()
    .min(0)
    .max(10_000)
    .nullable()
    .default(null)
    .describe('Price of a GPU-hour in a currency of your choice; null when unknown.'),
  hours: Hours.nullable().default(null).describe('Hours in which the pool orders machines; null for always.'),
  wall_time_s: seconds(60, 604_800)
    .default(14_400)
    .describe('Wall time of a launch in seconds; longer jobs continue in the next launch.'),
  after_s: seconds(0, 86_400)
    .default(60)
    .describe('Seconds that a job waits for other workers before the pool orders a machine.'),
  idle_s: seconds(0, 86_400)
    .default(120)
    .describe('Seconds without a job after which a worker of the pool leaves.'),
  join_s: seconds(10, 86_400)
    .default(600)
    .describe('Seconds that a started machine has to register before it is ended.'),
  notice_s: seconds(10, 86_400)
    .nullable()
    .default(null)
    .describe(
      'Seconds before the wall time at which the worker saves and stops; null for 120 s, or more when saving takes longer.',
    ),
  warm: z.int().min(0).max(100).default(0).describe('Launches that the pool keeps without jobs.'),
  setup: z
    .string()
    .max(4_000)
    .default('')
    .describe('Shell lines that run on the machine before the worker, such as `module load cuda`.'),
  worker_options: z
    .string()
    .max(4_000)
    .default('')
    .describe('Options of the worker, quoted as for a shell, such as `--trainer simpletuner=/opt/st`.'),
  worker_program: z
    .string()
    .max(1_000)
    .nullable()
    .default(null)
    .describe('Path of the worker on the machines; null to download it from the orchestrator.'),
} as const;

export const PoolName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    'expected lower-case letters, digits and "-", at most 32, beginning with a letter or digit',
  )
  .describe('Name of the pool, unique: lower-case letters, digits and `-`, at most 32.');

export const NewPool = z.strictObject({ name: PoolName, engine: EngineSettings, ...settings });
export type NewPool = Readonly<z.output<typeof NewPool>>;
export type PoolSettings = Omit<NewPool, 'name'>;

/** Why a launch waits, in five kinds that all engines share. */
export const WaitingReason = z.object({
  kind: z
    .enum(['quota', 'resources', 'held', 'dependency', 'other'])
    .describe(
      'Kind of the reason: a limit of the account, no free machine, held back, another job, or none of these.',
    ),
  text: z.string().max(300).describe("The engine's own words."),
});
export type WaitingReason = Readonly<z.output<typeof WaitingReason>>;

export const EngineCheck = z
  .object({
    ok: z.boolean().describe('Whether the engine can be reached and takes orders.'),
    version: z.string().nullable().describe('Version of the engine; null when unknown.'),
    detail: z.string().max(2_000).describe('What was found, or what failed and what to do.'),
    queues: z
      .array(
        z.object({
          name: z.string().describe('Name of the partition or queue.'),
          limits: z.string().describe('Its limits, in the words of the engine.'),
        }),
      )
      .max(200)
      .describe('Partitions or queues of the engine, with their limits.'),
  })
  .describe('What the engine of a pool answered to a check.');
export type EngineCheck = Readonly<z.output<typeof EngineCheck>>;

export const LaunchState = z
  .enum(['wanted', 'submitting', 'unclear', 'waiting', 'running', 'joined', 'ending', 'ended'])
  .describe(
    "State of the launch: `wanted` (not yet submitted), `submitting`, `unclear` (the engine did not answer), `waiting` (in the engine's queue), `running` (started, not registered yet), `joined`, `ending`, `ended`.",
  );
export type LaunchState = z.infer<typeof LaunchState>;

export const LaunchOutcome = z
  .enum([
    'finished',
    'not_needed',
    'cancelled',
    'rejected',
    'never_joined',
    'failed',
    'preempted',
    'timeout',
    'unknown',
  ])
  .describe(
    'How the launch ended: its worker left (`finished`), no job needed it any more, a person ended it, the engine refused it, it never registered, it failed, the engine took the machine away (`preempted`), its wall time was over (`timeout`), or it vanished (`unknown`).',
  );
export type LaunchOutcome = z.infer<typeof LaunchOutcome>;

export const LaunchView = z
  .object({
    launch_id: LaunchId,
    pool_id: PoolId,
    pool: z.string().describe('Name of the pool.'),
    state: LaunchState,
    outcome: LaunchOutcome.nullable().describe('How it ended; null while it has not.'),
    detail: z.string().nullable().describe('Reason of the state in one sentence; null for none.'),
    engine_id: z
      .string()
      .nullable()
      .describe("The engine's own id, such as a Slurm job id; null while there is none."),
    worker_id: WorkerId,
    worker_name: z.string().describe('Name of its worker.'),
    job_id: JobId.nullable().describe(
      'Job that it was ordered for; null for a test or a warm launch. Its worker may take another one.',
    ),
    nodes: z.number().describe('Machines.'),
    gpus: z.number().describe('GPUs of each machine.'),
    is_test: z.boolean().describe('Whether it was launched to test the pool.'),
    reason: WaitingReason.nullable().describe('Why it waits in the engine; null when it does not.'),
    expected_start: Time.nullable().describe('When the engine expects to start it; null when unknown.'),
    ordered_at: Time.describe('When it was ordered.'),
    submitted_at: Time.nullable().describe('When the engine accepted it; null when it has not.'),
    started_at: Time.nullable().describe('When its machine started; null when it has not.'),
    joined_at: Time.nullable().describe('When its worker registered; null when it has not.'),
    ends_at: Time.nullable().describe('When the engine will end it; null when unknown.'),
    ended_at: Time.nullable().describe('When it ended; null while it has not.'),
    machines: z.array(z.string()).describe('Names of its machines; empty while it waits.'),
    gpu_seconds: z.number().describe('GPU-seconds so far, from its start to its end.'),
  })
  .meta({ id: 'Launch', description: 'A worker that a pool has ordered.' });
export type LaunchView = z.output<typeof LaunchView>;

export const PoolView = z
  .object({
    pool_id: PoolId,
    name: PoolName,
    engine: EngineSettings,
    settings: z.object(settings).describe('Limits and settings of the pool.'),
    created_at: Time.describe('When the pool was created.'),
    paused: z
      .object({
        reason: z.string().describe('Why the pool is paused.'),
        by: z.string().describe('Who paused it; `system` when the pool paused itself.'),
        since: Time.describe('When it was paused.'),
      })
      .nullable()
      .describe('Set while the pool orders nothing; null otherwise.'),
    unreachable: z
      .object({
        since: Time.describe('When the engine last stopped answering.'),
        detail: z.string().describe('Its error.'),
      })
      .nullable()
      .describe('Set while the engine does not answer; null otherwise.'),
    open: z
      .object({
        launches: z.number().describe('Open launches.'),
        waiting: z.number().describe("Those that wait in the engine's queue."),
        joined: z.number().describe('Those whose worker has registered.'),
        gpus: z.number().describe('GPUs of all open launches.'),
      })
      .describe('Open launches of the pool.'),
    usage: z
      .object({
        gpu_hours_today: z.number().describe('GPU-hours since midnight UTC.'),
        gpu_hours_30_days: z.number().describe('GPU-hours of the last 30 days.'),
        cost_today: z.number().nullable().describe('Cost since midnight UTC; null without a price.'),
        cost_30_days: z.number().nullable().describe('Cost of the last 30 days; null without a price.'),
      })
      .describe('What the pool has used.'),
    impossible: z
      .array(
        z.object({
          shape: z.string().describe('What jobs of this kind need.'),
          message: z.string().describe('What the engine said.'),
          since: Time.describe('When the engine refused it.'),
        }),
      )
      .describe(
        'Kinds of jobs that the engine has refused for good, until the pool is changed or tried again.',
      ),
  })
  .meta({
    id: 'Pool',
    description: 'A pool: an engine with limits that orders workers when jobs need them.',
  });
export type PoolView = z.output<typeof PoolView>;
