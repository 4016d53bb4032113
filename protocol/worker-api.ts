import { z } from 'zod';
import { ArtifactPath } from './artifact.ts';
import { call } from './call.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';
import { OnLostContact, TrainerConfig } from './job.ts';
import { Labels } from './labels.ts';
import { JobData, Sha256 } from './dataset.ts';
import { CleanLine } from './line.ts';
import { AnyProgress } from './progress.ts';
import {
  CapabilityFields,
  type Capabilities,
  capabilitiesFrom,
  GpuTrouble,
  type OutputFacts,
  UploadChoice,
  WorkerType,
} from './worker.ts';

/** Protocol version of this agent and orchestrator. SimpleTuner's published agent sends none and counts as 1. */
export const protocolVersion = 2;

/** A registration in normal form, whichever spelling the agent used (docs/internals/worker-contract.md, section 1). */
export interface Registration {
  readonly capabilities: Capabilities;
  readonly host: string | null;
  readonly persistent: boolean | null;
  readonly labels: Labels | null;
  readonly currentJobId: JobId | null;
  readonly currentAttemptId: AttemptId | null;
  readonly protocol: 1 | 2;
  /** Identifies the machine; stays the same across restarts of the agent. */
  readonly instanceId: string | null;
  /** New at each start of the agent; distinguishes a restart from a reconnection. */
  readonly startId: string | null;
  /** Counts registrations since the agent's start; a request that arrives late has a lower number and is ignored. */
  readonly registrationNo: number | null;
  readonly agentVersion: string | null;
  /** Restricted config keys that the owner allows; null from agents that do not check configs. */
  readonly allowedConfigKeys: readonly string[] | null;
  /** Trainers on the rig; null from agents that do not report them. */
  readonly trainers: readonly { readonly name: string; readonly version: string | null }[] | null;
  /** Null from agents that do not report it. */
  readonly outputs: OutputFacts | null;
  /** Dataset versions on the rig, most recently used first; null from agents that cannot fetch data. */
  readonly datasets: readonly string[] | null;
  /** Null from agents that do not monitor their GPUs. */
  readonly gpuTroubles: readonly GpuTrouble[] | null;
}

const Short = z.string().max(200).pipe(CleanLine).nullish();

const mostTroubles = 32;
const SaidTrouble = GpuTrouble.extend({ detail: CleanLine });

/** Invalid entries are dropped, because a heartbeat must not fail because of them. */
const GpuTroubles = z
  .unknown()
  .transform(value =>
    Array.isArray(value)
      ? value.slice(0, mostTroubles).flatMap(entry => SaidTrouble.safeParse(entry).data ?? [])
      : undefined,
  )
  .optional();

/** Null when invalid: the agent then counts as one that does not check configs. */
const ConfigKeys = z.array(z.string().max(64).pipe(CleanLine)).max(64).nullish().catch(null);

/**
 * `any` is a command that accepts every config. Null when invalid: the agent then counts as one that does not report trainers.
 */
const Trainers = z
  .array(
    z.object({
      name: z.string().min(1).max(40).pipe(CleanLine),
      version: z.string().max(100).pipe(CleanLine).nullable().default(null),
    }),
  )
  .max(16)
  .nullish()
  .catch(null);

/** Outputs that the agent uploads. Null when invalid: they are then unknown to the server. */
const Outputs = z
  .object({
    upload: UploadChoice,
    /** Whether the owner's trainer command contains `{output_dir}`; null when the rig has no such command. */
    command_has_output_dir: z.boolean().nullable().default(null),
  })
  .nullish()
  .catch(null);
/** Null when invalid: the agent then counts as one that cannot fetch data. */
const Datasets = z.array(Sha256).max(100).nullish().catch(null);

const RegisterRequest = z
  .object({
    ...CapabilityFields,
    name: Short,
    persistent: z.boolean().nullish(),
    provider: Short,
    labels: Labels.nullish(),
    current_job_id: JobId.nullish(),
    current_attempt_id: AttemptId.nullish(),
    protocol: z.number().int().min(1).max(1000).nullish(),
    instance_id: Short,
    start_id: Short,
    registration_no: z.number().int().min(1).max(1e9).nullish(),
    agent_version: Short,
    allowed_config_keys: ConfigKeys,
    trainers: Trainers,
    outputs: Outputs,
    datasets: Datasets,
    gpu_troubles: GpuTroubles,
  })
  .transform(
    (body): Registration => ({
      capabilities: capabilitiesFrom(body),
      host: body.name ?? null,
      persistent: body.persistent ?? null,
      labels: body.labels && Object.keys(body.labels).length > 0 ? body.labels : null,
      currentJobId: body.current_job_id ?? null,
      currentAttemptId: body.current_attempt_id ?? null,
      protocol: (body.protocol ?? 1) >= protocolVersion ? 2 : 1,
      instanceId: body.instance_id ?? null,
      startId: body.start_id ?? null,
      registrationNo: body.registration_no ?? null,
      agentVersion: body.agent_version ?? null,
      allowedConfigKeys: body.allowed_config_keys ?? null,
      trainers: body.trainers ?? null,
      outputs: body.outputs
        ? { upload: body.outputs.upload, commandHasOutputDir: body.outputs.command_has_output_dir }
        : null,
      datasets: body.datasets ?? null,
      gpuTroubles: body.gpu_troubles ?? null,
    }),
  );

/** Request body as an agent sends it, in either spelling. */
export type RegistrationBody = z.input<typeof RegisterRequest>;

const ResumeJob = z.object({
  job_id: JobId,
  config_name: z.string(),
  status: z.string(),
  attempt_id: AttemptId,
});

/** An attempt that the worker must stop and report as cancelled. */
const CancelOrder = z.object({ job_id: JobId, attempt_id: AttemptId });

const RegisterReply = z.object({
  worker_id: WorkerId,
  /** The worker's name as set by the admin. */
  name: z.string(),
  sse_url: z.string(),
  resume_job: ResumeJob.nullable(),
  /** A job that no longer belongs to this worker: stop it without a report. */
  abandon_job: JobId.nullable(),
  cancel: CancelOrder.nullable(),
  protocol: z.number(),
  heartbeat_interval_s: z.number(),
  heartbeat_timeout_s: z.number(),
  stop_grace_s: z.number(),
  /** A stream without data for this long is considered dead. */
  stream_silence_s: z.number(),
  /**
   * Trainers of this worker whose config keys are still unknown: see `reportTrainerKeys`. Older orchestrators omit it.
   */
  trainer_keys_wanted: z.array(z.string()).optional(),
});
export type RegisterReply = z.output<typeof RegisterReply>;

/** Reported status in normal form; the published agent says `training` for `running`. */
const ReportedStatus = z
  .enum(['starting', 'training', 'running', 'completed', 'failed', 'cancelled'])
  .transform(word => (word === 'training' ? 'running' : word));

const errorChars = 8_000;

/**
 * Keeps the start, which says what happened, and the end, which says why: the last line of a traceback is the error.
 */
const cutMiddle = (text: string): string => `${text.slice(0, 500)}\n...\n${text.slice(505 - errorChars)}`;

export const StatusReport = z.object({
  status: ReportedStatus,
  attempt_id: AttemptId.nullish(),
  progress: AnyProgress.optional(),
  /** Truncated instead of refused: a long traceback must not lose the report. */
  error: z
    .string()
    .transform(text => (text.length <= errorChars ? text : cutMiddle(text)))
    .nullish(),
  exit_code: z.number().int().min(-1e9).max(1e10).nullish(),
  signal: z.string().max(32).nullish(),
  /** A cause that the exit code does not reveal. `worker_lost`: stopped because contact was lost. */
  cause: z.enum(['start_failed', 'invalid_config', 'rejected', 'preempted', 'worker_lost']).nullish(),
  /** With `completed`: the agent is still uploading files and reports when all are uploaded. */
  uploads_pending: z.boolean().nullish(),
});
export type StatusReport = z.output<typeof StatusReport>;
/** Request body as an agent sends it. */
export type StatusReportBody = z.input<typeof StatusReport>;

/** A figure for display. Invalid values are dropped, because a heartbeat must not fail because of them. */
const Figure = z
  .unknown()
  .transform(value => (typeof value === 'number' && Number.isFinite(value) ? value : undefined))
  .optional();

const Heartbeat = z.object({
  worker_id: WorkerId.nullish(),
  status: Short,
  current_job_id: JobId.nullish(),
  attempt_id: AttemptId.nullish(),
  job_progress: AnyProgress.optional(),
  gpu_utilization: Figure,
  vram_used_gb: Figure,
  /** All current troubles; absent from agents that do not monitor GPUs. */
  gpu_troubles: GpuTroubles,
  /** All datasets on the rig; absent while unchanged. */
  datasets: Datasets,
});
export type Heartbeat = z.output<typeof Heartbeat>;
/** Request body as an agent sends it. */
export type HeartbeatBody = z.input<typeof Heartbeat>;

const HeartbeatReply = z.object({
  success: z.literal(true),
  /** Repeated in every response until the job has stopped. */
  cancel: CancelOrder.nullable(),
  /** A job that no longer belongs to this worker: stop it without a report. */
  abandon_job: JobId.nullable(),
  heartbeat_interval_s: z.number(),
});
export type HeartbeatReply = z.output<typeof HeartbeatReply>;

/**
 * A command on the stream, one JSON object per `data: ` line. The published agent needs `config`, `dataloader` and
 * `upload_endpoint` in every `job_submit`, and fails on a null `upload_token`.
 */
export const WorkerCommand = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('job_submit'),
    job_id: JobId,
    attempt_id: AttemptId,
    config_name: z.string(),
    config: TrainerConfig,
    dataloader: z.unknown().nullable(),
    /** Texts of other files that the config names, keyed by the paths in the config. */
    files: z.record(z.string(), z.string()).default({}),
    /** Training data to fetch before the trainer starts. */
    data: z.array(JobData).max(64).default([]),
    /** GPUs of the job, as positions in the worker's own list; null for all GPUs that the worker uses. */
    gpus: z.array(z.int().min(0).max(1023)).min(1).max(1024).nullable().default(null),
    /** Path that the agent appends to the orchestrator's URL. The pattern excludes other hosts and `..`. */
    upload_endpoint: z.string().regex(/^\/(?!\/)(?!.*\.\.)[\w./-]*$/),
    upload_token: z.string().optional(),
    provider: z.string().nullable(),
    hf_token: z.string().nullable(),
    on_lost_contact: OnLostContact.default('continue'),
    /** Checkpoint to resume from, among the files of the job; null starts from scratch. */
    resume: z.object({ checkpoint: ArtifactPath, step: z.number().nullable() }).nullable().default(null),
  }),
  z.object({ type: z.literal('job_cancel'), job_id: JobId, attempt_id: AttemptId }),
  /**
   * Requests an action from the trainer in the way that its config defines. `what` is open, because later orchestrators may add
   * actions.
   */
  z.object({
    type: z.literal('job_ask'),
    job_id: JobId,
    attempt_id: AttemptId,
    what: z.string().regex(/^[a-z_]{1,40}$/),
  }),
  z.object({ type: z.literal('shutdown'), reason: z.string() }),
  /** The orchestrator shuts down on purpose and will return; trainers keep running. */
  z.object({ type: z.literal('stopping'), reason: z.string() }),
  z.object({ type: z.literal('ping') }),
]);
export type WorkerCommand = z.output<typeof WorkerCommand>;

/** Config keys of one trainer, as listed by the trainer itself. */
const TrainerKeys = z.strictObject({
  /** A trainer in the worker's registration. */
  trainer: z.string().min(1).max(40),
  keys: z.array(z.string().regex(/^[\w.-]{1,100}$/)).max(5_000),
});
export type TrainerKeys = z.output<typeof TrainerKeys>;

const done = z.object({ success: z.literal(true) });
/** The token identifies the worker; the id may only confirm it. */
const ofWorker = z.object({ worker_id: WorkerId.optional() });

/** Prefix of join tokens, by which an agent recognises them. */
export const joinTokenPrefix = 'tj_';

const JoinRequest = z.strictObject({
  /**
   * SHA-256, in lower-case hex, of the token that the agent has generated. The token itself never leaves the machine.
   */
  token_sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected the SHA-256 of a token, in lower-case hex'),
});
/** Request body as an agent sends it. */
export type JoinBody = z.input<typeof JoinRequest>;

const JoinReply = z.object({
  worker_id: WorkerId,
  /** The worker's name as set by the admin. */
  name: z.string(),
  worker_type: WorkerType,
});
export type JoinReply = z.output<typeof JoinReply>;

/** Requests from workers to the orchestrator, with the token in `X-Worker-Token`. */
export const workerApi = {
  /** Takes a join token instead of a worker token. Repeating it with the same hash returns the same response. */
  join: call({
    method: 'POST',
    path: '/api/join',
    authority: 'join',
    summary:
      'Become the worker that the join token was made for, with a token that the machine has made itself',
    body: JoinRequest,
    reply: JoinReply,
  }),
  register: call({
    method: 'POST',
    path: '/api/workers/register',
    authority: 'worker',
    summary: 'Introduce the machine and its GPUs, and learn what to go on with',
    body: RegisterRequest,
    reply: RegisterReply,
  }),
  stream: call({
    method: 'GET',
    path: '/api/workers/stream',
    authority: 'worker',
    summary: 'Receive commands as they are given',
    query: ofWorker,
    reply: WorkerCommand,
    stream: 'text/event-stream',
  }),
  heartbeat: call({
    method: 'POST',
    path: '/api/workers/heartbeat',
    authority: 'worker',
    summary: 'Say that the worker lives and what it runs',
    body: Heartbeat,
    reply: HeartbeatReply,
  }),
  queue: call({
    method: 'GET',
    path: '/api/workers/queue',
    authority: 'worker',
    summary: 'Ask whether another job waits, before an ephemeral worker leaves',
    query: ofWorker,
    reply: z.object({ has_jobs: z.boolean() }),
  }),
  reportStatus: call({
    method: 'POST',
    path: '/api/workers/job/:id/status',
    authority: 'worker',
    summary: 'Claim a job, report its progress or its end',
    params: z.object({ id: JobId }),
    body: StatusReport,
    reply: done.extend({ duplicate: z.boolean().optional() }),
  }),
  renewUploadToken: call({
    method: 'POST',
    path: '/api/workers/upload-token',
    authority: 'worker',
    summary: "Exchange an upload token of this worker's attempt for one that is valid after a token rotation",
    body: z.strictObject({ upload_token: z.string().max(300) }),
    reply: z.object({ upload_token: z.string() }),
  }),
  reportTrainerKeys: call({
    method: 'POST',
    path: '/api/workers/trainer-keys',
    authority: 'worker',
    summary:
      'Report which keys a trainer takes in its configs, so that misspelt ones are found before a job starts',
    body: TrainerKeys,
    reply: done,
  }),
  disconnect: call({
    method: 'POST',
    path: '/api/workers/disconnect',
    authority: 'worker',
    summary: 'Say goodbye',
    body: z.object({ worker_id: WorkerId.nullish() }),
    reply: done,
  }),
};
