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

/** What this agent and orchestrator speak. SimpleTuner's published agent sends none and counts as 1. */
export const protocolVersion = 2;

/** An agent's introduction in one shape, whichever way it spelled it (docs/internals/worker-contract.md, section 1). */
export interface Registration {
  readonly capabilities: Capabilities;
  readonly host: string | null;
  readonly persistent: boolean | null;
  readonly labels: Labels | null;
  readonly currentJobId: JobId | null;
  readonly currentAttemptId: AttemptId | null;
  readonly protocol: 1 | 2;
  /** The machine's own, kept over restarts of its agent: tells one machine from another. */
  readonly instanceId: string | null;
  /** A new one for every start of the agent: tells a restart from a reconnection. */
  readonly startId: string | null;
  /** Counts the introductions of one start: an older one may arrive late, and is no news then. */
  readonly registrationNo: number | null;
  readonly agentVersion: string | null;
  /** Restricted config keys that its owner allows; null from agents that check no config. */
  readonly allowedConfigKeys: readonly string[] | null;
  /** Trainers that the rig has; null from agents that do not say. */
  readonly trainers: readonly { readonly name: string; readonly version: string | null }[] | null;
  /** Null from agents that do not report it. */
  readonly outputs: OutputFacts | null;
  /** Versions of datasets that the rig has, most recently used first; null from agents that cannot fetch data. */
  readonly datasets: readonly string[] | null;
  /** Null from agents that do not look after their GPUs. */
  readonly gpuTroubles: readonly GpuTrouble[] | null;
}

const Short = z.string().max(200).pipe(CleanLine).nullish();

const mostTroubles = 32;
const SaidTrouble = GpuTrouble.extend({ detail: CleanLine });

/** For display and for holding back: what can not be read of it is left out, because a beat must not fail over it. */
const GpuTroubles = z
  .unknown()
  .transform(value =>
    Array.isArray(value)
      ? value.slice(0, mostTroubles).flatMap(entry => SaidTrouble.safeParse(entry).data ?? [])
      : undefined,
  )
  .optional();

/** Left out when it can't be read: the agent then counts as one that checks no config. */
const ConfigKeys = z.array(z.string().max(64).pipe(CleanLine)).max(64).nullish().catch(null);

/** `any`: a program that takes every config. Left out when it can't be read: the agent then counts as one that does not say. */
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

/** Which outputs the agent uploads. Ignored when it can't be read: the server then knows nothing of them. */
const Outputs = z
  .object({
    upload: UploadChoice,
    /** Whether the owner's trainer command has `{output_dir}`; null where the rig has no such command. */
    command_has_output_dir: z.boolean().nullable().default(null),
  })
  .nullish()
  .catch(null);
/** Left out when it can't be read: the agent then counts as one that cannot fetch data. */
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

/** As an agent sends it, in either spelling. */
export type RegistrationBody = z.input<typeof RegisterRequest>;

const ResumeJob = z.object({
  job_id: JobId,
  config_name: z.string(),
  status: z.string(),
  attempt_id: AttemptId,
});

/** An attempt to stop and to report as cancelled. */
const CancelOrder = z.object({ job_id: JobId, attempt_id: AttemptId });

const RegisterReply = z.object({
  worker_id: WorkerId,
  /** The name that the admin gave. */
  name: z.string(),
  sse_url: z.string(),
  resume_job: ResumeJob.nullable(),
  /** A job that is not this worker's any more: stop it, and report nothing. */
  abandon_job: JobId.nullable(),
  cancel: CancelOrder.nullable(),
  protocol: z.number(),
  heartbeat_interval_s: z.number(),
  heartbeat_timeout_s: z.number(),
  stop_grace_s: z.number(),
  /** A stream without a byte for this long is dead. */
  stream_silence_s: z.number(),
  /** Trainers of this worker whose keys nobody has reported yet: see `reportTrainerKeys`. Older orchestrators never ask. */
  trainer_keys_wanted: z.array(z.string()).optional(),
});
export type RegisterReply = z.output<typeof RegisterReply>;

/** A report's word in one spelling: `training` is how the published agent calls `running`. */
const ReportedStatus = z
  .enum(['starting', 'training', 'running', 'completed', 'failed', 'cancelled'])
  .transform(word => (word === 'training' ? 'running' : word));

const errorChars = 8_000;

/** How it begins says what happened, and how it ends, why: a traceback's last line is the error itself. */
const cutMiddle = (text: string): string => `${text.slice(0, 500)}\n...\n${text.slice(505 - errorChars)}`;

export const StatusReport = z.object({
  status: ReportedStatus,
  attempt_id: AttemptId.nullish(),
  progress: AnyProgress.optional(),
  /** Cut rather than refused: a long traceback is no reason to lose the report. */
  error: z
    .string()
    .transform(text => (text.length <= errorChars ? text : cutMiddle(text)))
    .nullish(),
  exit_code: z.number().int().min(-1e9).max(1e10).nullish(),
  signal: z.string().max(32).nullish(),
  /** What the agent knows better than its trainer's exit code; `worker_lost`: stopped because contact was lost. */
  cause: z.enum(['start_failed', 'invalid_config', 'rejected', 'preempted', 'worker_lost']).nullish(),
  /** With `completed`: the agent still uploads files, and reports when it has uploaded all of them. */
  uploads_pending: z.boolean().nullish(),
});
export type StatusReport = z.output<typeof StatusReport>;
/** As an agent sends it. */
export type StatusReportBody = z.input<typeof StatusReport>;

/** A figure for display: what is none is left out, because a beat must not fail over it. */
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
  /** All that there are at the moment; left out by agents that do not look. */
  gpu_troubles: GpuTroubles,
  /** All that the rig has now; left out while that has not changed. */
  datasets: Datasets,
});
export type Heartbeat = z.output<typeof Heartbeat>;
/** As an agent sends it. */
export type HeartbeatBody = z.input<typeof Heartbeat>;

const HeartbeatReply = z.object({
  success: z.literal(true),
  /** Repeated until it was done. */
  cancel: CancelOrder.nullable(),
  /** A job that is not this worker's any more: stop it, and report nothing. */
  abandon_job: JobId.nullable(),
  heartbeat_interval_s: z.number(),
});
export type HeartbeatReply = z.output<typeof HeartbeatReply>;

/**
 * What the stream carries, one JSON object a `data: ` line. The published agent needs `config`, `dataloader`
 * and `upload_endpoint` in every `job_submit`, and stumbles over an `upload_token` that is null.
 */
export const WorkerCommand = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('job_submit'),
    job_id: JobId,
    attempt_id: AttemptId,
    config_name: z.string(),
    config: TrainerConfig,
    dataloader: z.unknown().nullable(),
    /** Texts of the other files that the config names, by the paths that it has for them. */
    files: z.record(z.string(), z.string()).default({}),
    /** Training data to fetch before the start. */
    data: z.array(JobData).max(64).default([]),
    /** The GPUs of the job, by their positions in the worker's own list. Null: all that the worker uses. */
    gpus: z.array(z.int().min(0).max(1023)).min(1).max(1024).nullable().default(null),
    /** A path that the agent appends to the orchestrator's address: it can name no other host, and climb nowhere. */
    upload_endpoint: z.string().regex(/^\/(?!\/)(?!.*\.\.)[\w./-]*$/),
    upload_token: z.string().optional(),
    provider: z.string().nullable(),
    hf_token: z.string().nullable(),
    on_lost_contact: OnLostContact.default('continue'),
    /** What the attempt before has left to go on from, among the files of the job; null: begin anew. */
    resume: z.object({ checkpoint: ArtifactPath, step: z.number().nullable() }).nullable().default(null),
  }),
  z.object({ type: z.literal('job_cancel'), job_id: JobId, attempt_id: AttemptId }),
  /** To be asked of the trainer in the way that its config says; open, because a later orchestrator may know more. */
  z.object({
    type: z.literal('job_ask'),
    job_id: JobId,
    attempt_id: AttemptId,
    what: z.string().regex(/^[a-z_]{1,40}$/),
  }),
  z.object({ type: z.literal('shutdown'), reason: z.string() }),
  /** The orchestrator ends on purpose and will be back: what runs goes on. */
  z.object({ type: z.literal('stopping'), reason: z.string() }),
  z.object({ type: z.literal('ping') }),
]);
export type WorkerCommand = z.output<typeof WorkerCommand>;

/** The keys that one trainer takes in its configs, as that trainer itself lists them. */
const TrainerKeys = z.strictObject({
  /** One of the trainers that the worker has registered with. */
  trainer: z.string().min(1).max(40),
  keys: z.array(z.string().regex(/^[\w.-]{1,100}$/)).max(5_000),
});
export type TrainerKeys = z.output<typeof TrainerKeys>;

const done = z.object({ success: z.literal(true) });
/** The token says which worker calls; an id may only confirm it. */
const ofWorker = z.object({ worker_id: WorkerId.optional() });

/** How a join token begins: an agent tells by that what it was given. */
export const joinTokenPrefix = 'tj_';

const JoinRequest = z.strictObject({
  /** Of the token that the agent has made and keeps, in lower-case hex: the token itself stays where it was made. */
  token_sha256: z.string().regex(/^[0-9a-f]{64}$/, 'expected the SHA-256 of a token, in lower-case hex'),
});
/** As an agent sends it. */
export type JoinBody = z.input<typeof JoinRequest>;

const JoinReply = z.object({
  worker_id: WorkerId,
  /** The name that the admin gave. */
  name: z.string(),
  worker_type: WorkerType,
});
export type JoinReply = z.output<typeof JoinReply>;

/** Worker -> orchestrator, with the token in `X-Worker-Token`. */
export const workerApi = {
  /** With the join token in the place of the worker's. The same again, with the same hash, is answered the same. */
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
