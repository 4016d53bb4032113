import {
  type Approval,
  type FailureCause,
  type FinalStatus,
  type JobStatus,
  isFinal,
} from '../../../protocol/job.ts';
import type { Attempt, AttemptEnd, Job, StoppingJob } from '../../orchestrator/ports/index.ts';

export interface AttemptRow {
  readonly id: Attempt['id'];
  readonly job_id: Attempt['jobId'];
  readonly n: number;
  readonly worker_id: Attempt['workerId'];
  readonly offered_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly outcome: AttemptEnd['outcome'] | null;
  readonly cause: FailureCause | null;
  readonly error: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly charged: 0 | 1;
  readonly late: string | null;
  readonly resumed: string | null;
  readonly links: string | null;
  readonly inputs: string | null;
}

export interface JobRow {
  readonly id: Job['id'];
  readonly ord: number;
  readonly status: JobStatus;
  readonly config_name: string;
  readonly requirements: string;
  readonly priority: number;
  readonly max_retries: number;
  readonly queued_at: number;
  readonly not_before: number;
  readonly retries_used: number;
  readonly progress: string | null;
  readonly attempt_n: number;
  readonly ended_at: number | null;
  readonly cause: FailureCause | null;
  readonly error: string | null;
  readonly retry_on: string;
  readonly on_lost_contact: Job['spec']['onLostContact'];
  readonly timeout_ms: number | null;
  readonly stop: string | null;
  readonly devices: string | null;
  readonly user: string;
  readonly team: string | null;
  readonly boosts: number;
  readonly boost_at: number | null;
  readonly top: number;
  readonly level: number;
  readonly turn: number;
  readonly approval: Approval | null;
  readonly retry_of: Job['id'] | null;
  readonly retry_root: Job['id'] | null;
  readonly dependencies: string | null;
  readonly unmet: number;
  readonly requests: string;
  readonly name: string | null;
  readonly tags: string;
  readonly group_name: string | null;
  readonly sweep: string | null;
  readonly template: string | null;
  readonly likeness: string | null;
  /** Worker of the newest attempt. */
  readonly worker_id: Attempt['workerId'] | null;
  /** Time between submission and the start of the last attempt of an ended job; null when that attempt never started. */
  readonly waited_ms: number | null;
  /** Run time of the last attempt of an ended job. */
  readonly ran_ms: number | null;
}

/** Values to write by column; objects become JSON. */
export type Written<C extends string> = Readonly<Record<C, string | number | object | null>>;

/** A job joined with the columns of its newest attempt, prefixed `a_`; null without an attempt. */
export type JoinedRow = JobRow & { readonly [K in keyof AttemptRow as `a_${K}`]: AttemptRow[K] | null };

export function toAttempt(row: AttemptRow): Attempt {
  const end: AttemptEnd | null =
    row.ended_at === null || row.outcome === null
      ? null
      : {
          at: row.ended_at,
          outcome: row.outcome,
          cause: row.cause,
          error: row.error,
          exitCode: row.exit_code,
          signal: row.signal,
          charged: row.charged === 1,
        };
  return {
    id: row.id,
    jobId: row.job_id,
    n: row.n,
    workerId: row.worker_id,
    offeredAt: row.offered_at,
    startedAt: row.started_at,
    end,
    late: row.late === null ? null : (JSON.parse(row.late) as Attempt['late']),
    resumed: row.resumed === null ? null : (JSON.parse(row.resumed) as Attempt['resumed']),
    ...(row.inputs !== null && { inputs: JSON.parse(row.inputs) as NonNullable<Attempt['inputs']> }),
    ...(row.links !== null && { links: JSON.parse(row.links) as NonNullable<Attempt['links']> }),
  };
}

/** Columns of an attempt that are unknown when the attempt is offered to a worker. */
export const endingColumns = [
  'started_at',
  'ended_at',
  'outcome',
  'cause',
  'error',
  'exit_code',
  'signal',
  'charged',
] as const satisfies readonly (keyof AttemptRow)[];

export const attemptColumns = [
  'id',
  'job_id',
  'n',
  'worker_id',
  'offered_at',
  'late',
  'resumed',
  'links',
  'inputs',
  ...endingColumns,
] as const satisfies readonly (keyof AttemptRow)[];

export const newAttemptColumns = [...attemptColumns, 'gpus'] as const;

/** Returns the values of `endingColumns` for an attempt. */
export const endingRow = ({ startedAt, end }: Attempt): Written<(typeof endingColumns)[number]> => ({
  started_at: startedAt,
  ended_at: end?.at ?? null,
  outcome: end?.outcome ?? null,
  cause: end?.cause ?? null,
  error: end?.error ?? null,
  exit_code: end?.exitCode ?? null,
  signal: end?.signal ?? null,
  charged: end?.charged ? 1 : 0,
});

/** Returns the columns of a new attempt, with its number of GPUs, which does not change after the submission. */
export const newAttemptRow = (
  attempt: Attempt,
  { spec: { devices, requirements } }: Job,
): Written<(typeof newAttemptColumns)[number]> => ({
  ...attemptRow(attempt),
  gpus: (devices?.length ?? requirements.gpuCount) * (requirements.nodes ?? 1),
});

const attemptRow = (attempt: Attempt): Written<(typeof attemptColumns)[number]> => ({
  ...endingRow(attempt),
  id: attempt.id,
  job_id: attempt.jobId,
  n: attempt.n,
  worker_id: attempt.workerId,
  offered_at: attempt.offeredAt,
  late: attempt.late,
  resumed: attempt.resumed,
  links: attempt.links ?? null,
  inputs: attempt.inputs ?? null,
});

/** Defaults for jobs stored before these requirements existed. */
const anyGpu = { vramGb: 0, accelerator: null, guarded: false, configKeys: [] };

/** Maximum size of the cache; when full, it is cleared. */
const maxTexts = 1_000;

/** Caches parsed values, because many jobs share the same text. Callers must not modify them. */
function memoize<T>(read: (text: string) => T): (text: string) => T {
  const values = new Map<string, T>();
  return text => {
    const cached = values.get(text);
    if (cached !== undefined) return cached;
    if (values.size >= maxTexts) values.clear();
    const value = read(text);
    values.set(text, value);
    return value;
  };
}

type Spec = Job['spec'];

/** Returns a parser for stored job requirements. */
export const createRequirementsReader = (): ((text: string) => Spec['requirements']) =>
  memoize(text => ({ ...anyGpu, ...(JSON.parse(text) as Spec['requirements']) }));

/** Returns a parser for stored jobs. The casts are safe, because `jobRow` and `attemptRow` wrote the columns. */
export function createJobReader(): (row: JoinedRow) => Job {
  const requirementsIn = createRequirementsReader();
  const retryOnIn = memoize(text => JSON.parse(text) as Spec['retryOn']);
  const tagsIn = memoize(text => JSON.parse(text) as Spec['about']['tags']);
  const requestsIn = memoize(text => JSON.parse(text) as Spec['requests']);
  const baseOf = (row: JobRow): Base => ({
    id: row.id,
    order: row.ord,
    spec: {
      configName: row.config_name,
      about: {
        name: row.name,
        tags: tagsIn(row.tags),
        group: row.group_name,
        sweep: row.sweep === null ? null : (JSON.parse(row.sweep) as Spec['about']['sweep']),
        template: row.template,
      },
      requirements: requirementsIn(row.requirements),
      devices: row.devices === null ? null : (JSON.parse(row.devices) as Spec['devices']),
      maxRetries: row.max_retries,
      retryOn: retryOnIn(row.retry_on),
      onLostContact: row.on_lost_contact,
      timeoutMs: row.timeout_ms,
      requests: requestsIn(row.requests),
      ...(row.likeness !== null && { likeness: row.likeness }),
    },
    user: row.user,
    team: row.team,
    rank: {
      priority: row.priority,
      boosts: row.boosts,
      boostAt: row.boost_at,
      top: row.top,
      level: row.level,
      turn: row.turn,
    },
    approval: row.approval,
    retryOf: row.retry_of,
    retryRoot: row.retry_root,
    dependencies: row.dependencies === null ? null : (JSON.parse(row.dependencies) as Job['dependencies']),
    queuedAt: row.queued_at,
    retriesUsed: row.retries_used,
    progress: row.progress === null ? null : (JSON.parse(row.progress) as Job['progress']),
  });
  return row => {
    const attempt = row.a_id === null ? null : toAttempt(newestAttempt(row));
    const base = baseOf(row);
    const { status } = row;
    if (status === 'pending') return { ...base, attempt, status, notBefore: row.not_before };
    if (isFinal(status)) return ended(base, attempt, status, row);
    if (attempt === null) throw new Error(`job ${row.id} is ${status} without an attempt`);
    if (status !== 'cancelling') return { ...base, attempt, status };
    if (row.stop === null) throw new Error(`job ${row.id} is cancelling without a stop order`);
    return { ...base, attempt, status, stop: JSON.parse(row.stop) as StoppingJob['stop'] };
  };
}

type Base = Omit<StoppingJob, 'attempt' | 'status' | 'stop'>;

const ended = (base: Base, attempt: Attempt | null, status: FinalStatus, row: JobRow): Job => ({
  ...base,
  attempt,
  status,
  endedAt: row.ended_at ?? 0,
  cause: row.cause,
  error: row.error,
});

const joinedNames = attemptColumns.map(name => [name, `a_${name}`] as const);

function newestAttempt(row: JoinedRow): AttemptRow {
  const attempt: Partial<Record<keyof AttemptRow, unknown>> = {};
  for (const [name, joined] of joinedNames) attempt[name] = row[joined];
  return attempt as AttemptRow;
}

/** Columns that change during the life of a job. */
export const changingColumns = [
  'status',
  'priority',
  'not_before',
  'retries_used',
  'progress',
  'attempt_n',
  'ended_at',
  'cause',
  'error',
  'stop',
  'boosts',
  'boost_at',
  'top',
  'level',
  'turn',
  'approval',
  'dependencies',
  'unmet',
  'worker_id',
  'waited_ms',
  'ran_ms',
  'name',
  'tags',
  'group_name',
] as const satisfies readonly (keyof JobRow)[];

export const jobColumns = [
  'id',
  'ord',
  'config_name',
  'requirements',
  'max_retries',
  'queued_at',
  'retry_on',
  'on_lost_contact',
  'timeout_ms',
  'devices',
  'user',
  'team',
  'retry_of',
  'retry_root',
  'requests',
  'sweep',
  'template',
  'likeness',
  ...changingColumns,
] as const satisfies readonly (keyof JobRow)[];

/** Returns the values of `changingColumns` for a job. */
export const changingRow = (job: Job): Written<(typeof changingColumns)[number]> => ({
  status: job.status,
  priority: job.rank.priority,
  not_before: job.status === 'pending' ? job.notBefore : 0,
  retries_used: job.retriesUsed,
  progress: job.progress,
  attempt_n: job.attempt?.n ?? 0,
  ended_at: 'endedAt' in job ? job.endedAt : null,
  cause: 'cause' in job ? job.cause : null,
  error: 'error' in job ? job.error : null,
  stop: job.status === 'cancelling' ? job.stop : null,
  boosts: job.rank.boosts,
  boost_at: job.rank.boostAt,
  top: job.rank.top,
  level: job.rank.level,
  turn: job.rank.turn,
  approval: job.approval,
  dependencies: job.dependencies,
  unmet: job.dependencies?.parents.filter(({ isDone }) => !isDone).length ?? 0,
  worker_id: job.attempt?.workerId ?? null,
  ...timesOf(job),
  name: job.spec.about.name,
  tags: job.spec.about.tags,
  group_name: job.spec.about.group,
});

/** Returns times that are stored when the job ends, so that averages over many jobs need no other table. */
function timesOf(job: Job): Written<'waited_ms' | 'ran_ms'> {
  const startedAt = job.attempt?.startedAt ?? null;
  if (!('endedAt' in job) || startedAt === null) return { waited_ms: null, ran_ms: null };
  const ranUntil = job.attempt?.end?.at ?? null;
  return {
    waited_ms: Math.max(0, startedAt - job.queuedAt),
    ran_ms: ranUntil === null ? null : Math.max(0, ranUntil - startedAt),
  };
}

/** Returns the values of all columns of a job. */
export const jobRow = (job: Job): Written<(typeof jobColumns)[number]> => ({
  ...changingRow(job),
  id: job.id,
  ord: job.order,
  config_name: job.spec.configName,
  requirements: job.spec.requirements,
  max_retries: job.spec.maxRetries,
  queued_at: job.queuedAt,
  retry_on: job.spec.retryOn,
  on_lost_contact: job.spec.onLostContact,
  timeout_ms: job.spec.timeoutMs,
  devices: job.spec.devices,
  user: job.user,
  team: job.team,
  retry_of: job.retryOf,
  retry_root: job.retryRoot,
  requests: job.spec.requests,
  sweep: job.spec.about.sweep,
  template: job.spec.about.template,
  likeness: job.spec.likeness ?? null,
});
