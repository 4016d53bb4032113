import { z } from 'zod';
import { JobId, LaunchId, PoolId, WorkerId } from './ids.ts';
import { Line, Labels } from './text.ts';

const Time = z.iso.datetime();

/** An argument in an engine's command line. It must not start with `-`, so that no program reads it as an option. */
const Word = z
  .string()
  .regex(/^[\w.@:/+%=,*-]{1,200}$/, 'expected at most 200 letters, digits and . @ : / + % = , * _ -')
  .refine(word => !word.startsWith('-'), 'must not begin with "-"');

const word = (text: string) => Word.nullable().default(null).describe(text);

const amount = (max: number, text: string) => z.int().min(1).max(max).nullable().default(null).describe(text);

const Slurm = z.strictObject({
  kind: z.literal('slurm').describe('A Slurm cluster, used through its command line.'),
  login: word('Host for `ssh`, such as `me@login.example.org`; null when `sbatch` is on the orchestrator.'),
  partition: word('Partition; null for the default partition of the cluster.'),
  account: word('Account to charge; null for the default.'),
  qos: word('Quality of service; null for the default.'),
  gpu_type: word('Type in `--gres=gpu:TYPE:N`; null for any type.'),
  output: word(
    'File on the cluster for the output of each worker, such as `/home/me/trainyard-%j.log`; null to discard it. It shows why a worker does not join.',
  ),
  constraint: word('Required node features, as in `sbatch --constraint`; null for any node.'),
  cpus_per_gpu: amount(1_024, 'CPUs for each GPU; null for the default.'),
  memory_gb: amount(65_536, 'Memory of each machine in GB; null for the default.'),
});

const Kubernetes = z.strictObject({
  kind: z.literal('kubernetes').describe('A Kubernetes cluster, used through `kubectl`.'),
  context: word('Context of the kubeconfig; null for the current one.'),
  namespace: Word.default('default').describe('Namespace of the pods.'),
  queue: word('Local queue of Kueue; null when the cluster does not use Kueue.'),
  image: Line.min(1).max(500).describe('Container image with the trainer, `curl` and a shell.'),
  gpu_resource: Word.default('nvidia.com/gpu').describe('Name of the GPU resource.'),
  node_selector: Labels.default({}).describe('Labels that the nodes must have.'),
  service_account: word('Service account of the pods; null for the default.'),
  cpus: amount(1_024, 'CPUs of each pod; null for no request.'),
  memory_gb: amount(65_536, 'Memory of each pod in GB; null for no request.'),
});

const Command = z.strictObject({
  kind: z.literal('command').describe('Four programs of your own.'),
  programs: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'expected lower-case letters, digits, "_" and "-", at most 64')
    .describe(
      'Name of a folder in `engines` of the data folder, with the programs `check`, `launch`, `list` and `end`.',
    ),
});

/** The engine from which a pool gets its machines. */
export const EngineSettings = z
  .discriminatedUnion('kind', [Slurm, Kubernetes, Command])
  .meta({ id: 'EngineSettings', description: 'The engine of the pool and its settings.' });
export type EngineSettings = Readonly<z.output<typeof EngineSettings>>;
export type SlurmSettings = Extract<EngineSettings, { kind: 'slurm' }>;
export type KubernetesSettings = Extract<EngineSettings, { kind: 'kubernetes' }>;

const Minute = /^([01]\d|2[0-3]):[0-5]\d$/;

/** Daily hours in a time zone. If `to` is before `from`, they end on the next day. */
export const Hours = z
  .strictObject({
    from: z.string().regex(Minute, 'expected HH:MM').describe('Start of the hours, `HH:MM`.'),
    to: z
      .string()
      .regex(Minute, 'expected HH:MM')
      .describe('End of the hours, `HH:MM`; on the next day when it is before `from`.'),
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
    .describe('Maximum number of GPUs of one machine; 0 for machines without GPUs.'),
  nodes: z.int().min(1).max(256).default(1).describe('Maximum number of machines of one job.'),
  vram_gb: z
    .number()
    .min(0)
    .max(1_000)
    .default(0)
    .describe(
      'Memory of each GPU in GB; 0 when unknown, which fits only jobs that do not require an amount.',
    ),
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
    .describe('Trainers on the machines; null when unknown, which allows jobs of every trainer.'),
  labels: Labels.default({}).describe('Labels that the workers of the pool get.'),
  config_keys: z
    .array(z.string().min(1).max(100))
    .max(64)
    .default([])
    .describe('Restricted config keys that the workers of the pool allow; none by default.'),
  max_launches: z.int().min(1).max(1_000).default(4).describe('Maximum number of open launches.'),
  max_waiting: z
    .int()
    .min(1)
    .max(1_000)
    .default(4)
    .describe("Maximum number of launches that wait in the engine's queue."),
  max_gpus: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .default(null)
    .describe('Maximum number of GPUs of all open launches; null for no limit.'),
  gpu_hours_per_day: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .default(null)
    .describe(
      'Budget of GPU-hours per day (UTC). After that, the pool orders nothing until the next day; null for no budget.',
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
    .describe(
      'Wall time (maximum duration) of a launch, in seconds; longer jobs continue in the next launch.',
    ),
  after_s: seconds(0, 86_400)
    .default(60)
    .describe('Time that a job must wait before the pool orders a machine for it, in seconds.'),
  idle_s: seconds(0, 86_400)
    .default(120)
    .describe('Time without a job after which a worker of the pool exits, in seconds.'),
  join_s: seconds(10, 86_400)
    .default(600)
    .describe('Time that a started machine has to register before the pool ends it, in seconds.'),
  notice_s: seconds(10, 86_400)
    .nullable()
    .default(null)
    .describe(
      'How long before the end of the wall time the worker saves and stops, in seconds; null for 120 s, or longer if saving takes longer.',
    ),
  warm: z.int().min(0).max(100).default(0).describe('Number of idle workers that the pool keeps running.'),
  setup: z
    .string()
    .max(4_000)
    .default('')
    .describe('Shell commands that run on the machine before the worker starts, such as `module load cuda`.'),
  worker_options: z
    .string()
    .max(4_000)
    .default('')
    .describe('Options of the worker, quoted as for a shell, such as `--trainer simpletuner=/opt/st/.venv`.'),
  worker_program: z
    .string()
    .max(1_000)
    .nullable()
    .default(null)
    .describe('Path of the worker on the machines; null to download it from the orchestrator.'),
} as const;

const PoolName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    'expected lower-case letters, digits and "-", at most 32, beginning with a letter or digit',
  )
  .describe('Name of the pool, unique: lower-case letters, digits and `-`, at most 32.');

export const NewPool = z.strictObject({ name: PoolName, engine: EngineSettings, ...settings });
export type NewPool = Readonly<z.output<typeof NewPool>>;
export type PoolSettings = Omit<NewPool, 'name'>;

/** The reason why a launch waits. The kinds are the same for all engines. */
export const WaitingReason = z.object({
  kind: z
    .enum(['quota', 'resources', 'held', 'dependency', 'other'])
    .describe(
      'Kind of the reason: a limit of the account (`quota`), no free machine (`resources`), held until a time or until somebody releases it (`held`), another job (`dependency`), or `other`.',
    ),
  text: z.string().max(300).describe('The reason as the engine reports it.'),
});
export type WaitingReason = Readonly<z.output<typeof WaitingReason>>;

export const EngineCheck = z
  .object({
    ok: z.boolean().describe('Whether the engine can be reached and takes orders.'),
    version: z.string().nullable().describe('Version of the engine; null when unknown.'),
    detail: z.string().max(2_000).describe('Details of the engine, or the failure and how to fix it.'),
    queues: z
      .array(
        z.object({
          name: z.string().describe('Name of the partition or queue.'),
          limits: z.string().describe('Its limits, as the engine reports them.'),
        }),
      )
      .max(200)
      .describe('Partitions or queues of the engine, with their limits.'),
  })
  .describe('Result of a check of the engine of a pool.');
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
    'How the launch ended: its worker left (`finished`), no job needed it any more (`not_needed`), a user ended it (`cancelled`), the engine refused it (`rejected`), it never registered (`never_joined`), it failed (`failed`), the engine took the machine away (`preempted`), its wall time was over (`timeout`), or it vanished (`unknown`).',
  );
export type LaunchOutcome = z.infer<typeof LaunchOutcome>;

export const LaunchView = z
  .object({
    launch_id: LaunchId,
    pool_id: PoolId,
    pool: z.string().describe('Name of the pool.'),
    state: LaunchState,
    outcome: LaunchOutcome.nullable().describe('How it ended; null while it is open.'),
    detail: z.string().nullable().describe('Reason for the state in one sentence; null when there is none.'),
    engine_id: z
      .string()
      .nullable()
      .describe('Id in the engine, such as a Slurm job id; null before the engine accepts it.'),
    worker_id: WorkerId,
    worker_name: z.string().describe('Name of its worker.'),
    job_id: JobId.nullable().describe(
      'Job that it was ordered for; null for a test or a warm launch. Its worker may take another one.',
    ),
    nodes: z.number().describe('Number of machines.'),
    gpus: z.number().describe('GPUs of each machine.'),
    is_test: z.boolean().describe('Whether it was launched to test the pool.'),
    reason: WaitingReason.nullable().describe('Why it waits in the engine; null when it is not waiting.'),
    expected_start: Time.nullable().describe('When the engine expects to start it; null when unknown.'),
    ordered_at: Time.describe('When it was ordered.'),
    submitted_at: Time.nullable().describe('When the engine accepted it; null before that.'),
    started_at: Time.nullable().describe('When its machine started; null before that.'),
    joined_at: Time.nullable().describe('When its worker registered; null before that.'),
    ends_at: Time.nullable().describe('When the engine will end it; null when unknown.'),
    ended_at: Time.nullable().describe('When it ended; null while it is open.'),
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
        by: z.string().describe('Name of the token that paused it; `system` when the pool paused itself.'),
        since: Time.describe('When it was paused.'),
      })
      .nullable()
      .describe('Set while the pool is paused; null otherwise.'),
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
        waiting: z.number().describe("Launches that wait in the engine's queue."),
        joined: z.number().describe('Launches whose worker has registered.'),
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
      .describe('GPU-hours and cost of the pool.'),
    impossible: z
      .array(
        z.object({
          shape: z.string().describe('Machine that jobs of this kind need.'),
          message: z.string().describe('Message of the engine.'),
          since: Time.describe('When the engine refused it.'),
        }),
      )
      .describe(
        'Kinds of jobs that the engine has refused. The pool orders no machine for them until it is changed or resumed.',
      ),
  })
  .meta({
    id: 'Pool',
    description: 'A pool: an engine with limits that orders workers when jobs need them.',
  });
export type PoolView = z.output<typeof PoolView>;
