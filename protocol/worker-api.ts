import { z } from 'zod';
import { ArtifactPath } from './artifact.ts';
import { call } from './call.ts';
import { JobData } from './dataset.ts';
import { AttemptId, JobId, WorkerId } from './ids.ts';
import { OnLostContact, TrainerConfig } from './job.ts';
import { FetchesInputs, OfferedInputs } from './job-inputs.ts';
import {
  AnyProgress,
  Closed,
  ConfigKeys,
  Datasets,
  GpuReports,
  GpuTroubles,
  Outputs,
  TrainerKeys,
  Trainers,
} from './reports.ts';
import { ReportedLinks } from './tracker-urls.ts';
import { CleanLine, Labels } from './text.ts';
import {
  type Capabilities,
  capabilitiesFrom,
  CapabilityFields,
  type GpuTrouble,
  type OutputFacts,
  WorkerType,
} from './worker.ts';
import { MultiNode, OfferedNode, ReadyNode, Rendezvous } from './worker-nodes.ts';
import { ReportedProgram, UpdateOrder } from './worker-update.ts';

/** Protocol version of this agent and orchestrator. SimpleTuner's published agent sends none and counts as 1. */
export const protocolVersion = 2;

/** A registration in normal form, for both spellings of agents (docs/internals/worker-contract.md, section 1). */
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
  /** Different at each start of the agent; distinguishes a restart from a reconnection. */
  readonly startId: string | null;
  /** Counts registrations since the agent's start. The server ignores a request with a lower number, because it is late. */
  readonly registrationNo: number | null;
  readonly agentVersion: string | null;
  /** Restricted config keys that the owner allows; null from agents that do not check configs. */
  readonly allowedConfigKeys: readonly string[] | null;
  /** Trainers on the rig; null from agents that do not report them. */
  readonly trainers: readonly { readonly name: string; readonly version: string | null }[] | null;
  /** Outputs that the agent uploads; null from agents that do not report them. */
  readonly outputs: OutputFacts | null;
  /** Dataset versions on the rig, most recently used first; null from agents that cannot fetch data. */
  readonly datasets: readonly string[] | null;
  /** Current problems of the GPUs; null from agents that do not monitor their GPUs. */
  readonly gpuTroubles: readonly GpuTrouble[] | null;
  /** Why the rig takes no job for now; null when it takes jobs. */
  readonly closed: Closed | null;
  /** Whether the agent can train one job together with the agents of other machines. */
  readonly isMultiNode: boolean;
  readonly fetchesInputs: boolean;
  /** The agent's own program; null from agents that the server cannot update. */
  readonly program: z.output<typeof ReportedProgram>;
}

const Short = z.string().max(200).pipe(CleanLine).nullish();

const RegisterRequest = z
  .object({
    ...CapabilityFields,
    name: Short.describe("The agent's own name, by default its host name."),
    persistent: z.boolean().nullish().describe('Whether the agent stays after a job.'),
    provider: Short.describe('Provider of the machine. The server accepts and ignores it.'),
    labels: Labels.nullish().describe('Labels that the agent gives itself; those of an admin override them.'),
    current_job_id: JobId.nullish().describe('Job that runs on the machine; null for none.'),
    current_attempt_id: AttemptId.nullish().describe('Attempt of that job; null for none.'),
    protocol: z
      .number()
      .int()
      .min(1)
      .max(1000)
      .nullish()
      .describe('Version of the worker protocol that the agent uses; defaults to 1.'),
    instance_id: Short.describe('Identifies the machine; stays the same across restarts of the agent.'),
    start_id: Short.describe('New at each start of the agent; distinguishes a restart from a reconnection.'),
    registration_no: z
      .number()
      .int()
      .min(1)
      .max(1e9)
      .nullish()
      .describe(
        "Counts registrations since the agent's start; a request that arrives late has a lower number and is ignored.",
      ),
    agent_version: Short.describe('Version of the agent.'),
    allowed_config_keys: ConfigKeys.describe(
      "Restricted config keys that the rig's owner allows; null from agents that do not check configs.",
    ),
    trainers: Trainers.describe('Trainers on the rig; null from agents that do not report them.'),
    outputs: Outputs.describe(
      'Which outputs of trainers the agent uploads; null from agents that do not report it.',
    ),
    datasets: Datasets.describe(
      'Dataset versions on the rig, most recently used first; null from agents that cannot fetch data.',
    ),
    gpu_troubles: GpuTroubles.describe(
      'Current troubles of the GPUs; absent from agents that do not monitor them. Invalid entries are dropped.',
    ),
    closed: Closed.nullish(),
    multi_node: MultiNode,
    fetches_inputs: FetchesInputs,
    program: ReportedProgram,
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
      closed: body.closed ?? null,
      isMultiNode: body.multi_node ?? false,
      fetchesInputs: body.fetches_inputs ?? false,
      program: body.program ?? null,
    }),
  );

/** Request body as an agent sends it, in either spelling. */
export type RegistrationBody = z.input<typeof RegisterRequest>;

const ResumeJob = z.object({
  job_id: JobId,
  config_name: z.string().describe("Name of the job's config."),
  status: z.string().describe('Status of the job.'),
  attempt_id: AttemptId,
});

const CancelOrder = z.object({ job_id: JobId, attempt_id: AttemptId });

/**
 * The machine will be taken away. The agent saves, uploads the checkpoint, stops the trainer, reports `preempted`, and
 * takes no other job.
 */
const Notice = z.object({
  ends_in_s: z.number().min(0).describe('Seconds until the machine is taken away.'),
  reason: z.string().describe('Why it is taken away.'),
});
export type Notice = Readonly<z.output<typeof Notice>>;

const RegisterReply = z.object({
  worker_id: WorkerId,
  name: z.string().describe("The worker's name as set by the admin."),
  sse_url: z.string().describe('Path of the command stream.'),
  resume_job: ResumeJob.nullable().describe('Job that the agent continues; null for none.'),
  abandon_job: JobId.nullable().describe(
    'A job that no longer belongs to this worker: stop it without a report.',
  ),
  cancel: CancelOrder.nullable().describe(
    'Attempt that the worker must stop and report as cancelled; null for none.',
  ),
  protocol: z.number().describe('Version of the worker protocol that the server uses.'),
  heartbeat_interval_s: z.number().describe('Seconds between two heartbeats.'),
  heartbeat_timeout_s: z.number().describe('Seconds without a heartbeat after which the worker is offline.'),
  stop_grace_s: z.number().describe('Seconds that a trainer has to end after it was told to stop.'),
  stream_silence_s: z
    .number()
    .describe('Seconds without data after which the agent treats the stream as dead.'),
  trainer_keys_wanted: z
    .array(z.string())
    .optional()
    .describe(
      'Trainers of this worker whose config keys the server does not know yet. Older orchestrators omit it.',
    ),
  allocation: z
    .object({
      ends_in_s: z.number().min(0).describe('Seconds until the machine is taken away.'),
      notice_s: z
        .number()
        .min(0)
        .describe('Seconds before that at which the worker begins to save and leave.'),
    })
    .nullish()
    .describe('How long the worker has its machine; null for a machine of its own.'),
  update: UpdateOrder.nullish().describe('Program to install; absent for none.'),
});
export type RegisterReply = z.output<typeof RegisterReply>;

const ReportedStatus = z
  .enum(['starting', 'training', 'running', 'completed', 'failed', 'cancelled'])
  .transform(word => (word === 'training' ? 'running' : word))
  .describe('Status of the job on the worker; `training` is an alias of `running`.');

const errorChars = 8_000;

/** Keeps the start and the end of a long error text, because the last line of a traceback contains the error. */
const cutMiddle = (text: string): string => `${text.slice(0, 500)}\n...\n${text.slice(505 - errorChars)}`;

export const StatusReport = z.object({
  status: ReportedStatus,
  attempt_id: AttemptId.nullish().describe('Attempt that the report is about.'),
  progress: AnyProgress.optional().describe(
    'Progress of the trainer: a percentage, or an object with figures. Invalid fields are dropped.',
  ),
  error: z
    .string()
    .transform(text => (text.length <= errorChars ? text : cutMiddle(text)))
    .nullish()
    .describe('Error as text; null for none. A long one is cut in the middle.'),
  exit_code: z
    .number()
    .int()
    .min(-1e9)
    .max(1e10)
    .nullish()
    .describe('Exit code of the trainer; null when it has not exited with one.'),
  signal: z.string().max(32).nullish().describe('Signal that ended the trainer; null for none.'),
  cause: z
    .enum(['start_failed', 'invalid_config', 'rejected', 'preempted', 'worker_lost'])
    .nullish()
    .describe(
      'Cause that the exit code does not reveal; null for none. `worker_lost`: stopped because contact was lost.',
    ),
  saved: z
    .boolean()
    .nullish()
    .describe(
      'With the cause `preempted`: the worker was told in advance, and `true` when the checkpoint that it saved then is uploaded. Absent when it was not told.',
    ),
  ready: ReadyNode.nullish().describe(
    'With `starting`, for an attempt on several machines: everything that the trainer needs is in place here. The agent starts it when all are ready.',
  ),
  links: ReportedLinks,
  uploads_pending: z
    .boolean()
    .nullish()
    .describe('With `completed`: the agent is still uploading files and reports when all are uploaded.'),
});
export type StatusReport = z.output<typeof StatusReport>;
export type StatusReportBody = z.input<typeof StatusReport>;

const Heartbeat = z.object({
  worker_id: WorkerId.nullish().describe(
    'Id of the worker. The token already identifies it; another id is refused.',
  ),
  status: Short.describe("Status in the agent's own words. The server does not evaluate it."),
  current_job_id: JobId.nullish().describe('Job that runs on the machine; null for none.'),
  attempt_id: AttemptId.nullish().describe('Attempt of that job; null for none.'),
  job_progress: AnyProgress.optional().describe(
    'Progress of the trainer: a percentage, or an object with figures. Invalid fields are dropped.',
  ),
  ...GpuReports,
  datasets: Datasets.describe('All datasets on the rig; absent while unchanged.'),
  closed: Closed.nullish(),
});
export type Heartbeat = z.output<typeof Heartbeat>;
export type HeartbeatBody = z.input<typeof Heartbeat>;

const HeartbeatReply = z.object({
  success: z.literal(true).describe('Always true.'),
  cancel: CancelOrder.nullable().describe(
    'Attempt that the worker must stop; null for none. Repeated in every response until the job has stopped.',
  ),
  abandon_job: JobId.nullable().describe(
    'A job that no longer belongs to this worker: stop it without a report.',
  ),
  heartbeat_interval_s: z.number().describe('Seconds until the next heartbeat.'),
  notice: Notice.nullish().describe(
    'The machine will be taken away; null or absent when it will not. Repeated in every response.',
  ),
  rendezvous: Rendezvous.nullish().describe(
    'All machines of this attempt are ready: start the trainer. Repeated until the agent reports `running`.',
  ),
  update: UpdateOrder.nullish().describe('Program to install; absent for none. Repeated in every response.'),
});
export type HeartbeatReply = z.output<typeof HeartbeatReply>;

/**
 * A command on the stream, one JSON object per `data: ` line. SimpleTuner's published agent needs `config`, `dataloader`
 * and `upload_endpoint` in every `job_submit`, and fails if `upload_token` is null.
 */
export const WorkerCommand = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('job_submit').describe('Start the trainer of this job.'),
    job_id: JobId,
    attempt_id: AttemptId,
    config_name: z.string().describe("Name of the job's config."),
    config: TrainerConfig.describe("The job's config."),
    dataloader: z.unknown().nullable().describe("The job's dataloader; null for none."),
    files: z
      .record(z.string(), z.string())
      .default({})
      .describe('Texts of other files that the config names, keyed by the paths in the config.'),
    data: z.array(JobData).max(64).default([]).describe('Training data to fetch before the trainer starts.'),
    inputs: OfferedInputs,
    gpus: z
      .array(z.int().min(0).max(1023))
      .min(1)
      .max(1024)
      .nullable()
      .default(null)
      .describe(
        "GPUs of the job, as positions in the worker's own list; null for all GPUs that the worker uses.",
      ),
    upload_endpoint: z
      .string()
      .regex(/^\/(?!\/)(?!.*\.\.)[\w./-]*$/)
      .describe(
        "Path that the agent appends to the orchestrator's URL. The pattern excludes other hosts and `..`.",
      ),
    upload_token: z
      .string()
      .optional()
      .describe('Token for uploads of this attempt; omitted when there is none.'),
    provider: z.string().nullable().describe("Always null; SimpleTuner's agent requires the field."),
    hf_token: z.string().nullable().describe("Always null; SimpleTuner's agent requires the field."),
    on_lost_contact: OnLostContact.default('continue').describe(
      'What to do with the trainer after contact is lost.',
    ),
    resume: z
      .object({
        checkpoint: ArtifactPath.describe("Key of the checkpoint among the job's files."),
        step: z.number().nullable().describe('Step of the checkpoint; null when unknown.'),
      })
      .nullable()
      .default(null)
      .describe('Checkpoint to resume from, among the files of the job; null starts from scratch.'),
    node: OfferedNode.optional(),
  }),
  Rendezvous.extend({
    type: z.literal('job_rendezvous').describe('All machines of this attempt are ready: start the trainer.'),
  }),
  z.object({
    type: z.literal('job_cancel').describe('Stop the trainer and report the job as cancelled.'),
    job_id: JobId,
    attempt_id: AttemptId,
  }),
  /**
   * Requests an action from the trainer in the way that its config defines. `what` may be any word, because later
   * orchestrators may add actions.
   */
  z.object({
    type: z
      .literal('job_ask')
      .describe('Request an action from the trainer in the way that its config defines.'),
    job_id: JobId,
    attempt_id: AttemptId,
    what: z
      .string()
      .regex(/^[a-z_]{1,40}$/)
      .describe('Action to request: `save` or `sample`. Later orchestrators may add actions.'),
  }),
  Notice.extend({
    type: z
      .literal('notice')
      .describe('Save, upload the checkpoint, stop the trainer, report `preempted`, and take no other job.'),
  }),
  UpdateOrder.extend({ type: z.literal('update').describe('Install this program and restart.') }),
  z.object({
    type: z.literal('shutdown').describe('Leave the fleet.'),
    reason: z.string().describe('Why the worker has to leave.'),
  }),
  /** The orchestrator shuts down on purpose and will return; trainers keep running. */
  z.object({
    type: z.literal('stopping').describe('The orchestrator stops and will return; trainers keep running.'),
    reason: z.string().describe('Why the orchestrator stops.'),
  }),
  z.object({ type: z.literal('ping').describe('Keep-alive without effect.') }),
]);
export type WorkerCommand = z.output<typeof WorkerCommand>;

const Success = z.object({ success: z.literal(true).describe('Always true.') });
/** The token identifies the worker. The optional id must match the token. */
const WorkerQuery = z.object({
  worker_id: WorkerId.optional().describe(
    'Id of the worker. The token already identifies it; another id is refused.',
  ),
});

/** Prefix of join tokens. It distinguishes them from worker tokens. */
export const joinTokenPrefix = 'tj_';

const JoinRequest = z.strictObject({
  token_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'expected the SHA-256 of a token, in lower-case hex')
    .describe(
      'SHA-256, in lower-case hex, of the token that the agent has generated. The token itself never leaves the machine.',
    ),
});
/** Request body as an agent sends it. */
export type JoinBody = z.input<typeof JoinRequest>;

const JoinReply = z.object({
  worker_id: WorkerId,
  name: z.string().describe("The worker's name as set by the admin."),
  worker_type: WorkerType,
});
export type JoinReply = z.output<typeof JoinReply>;

/** Requests from workers to the orchestrator, with the token in `X-Worker-Token`. */
export const workerApi = {
  /** Requires a join token instead of a worker token. A repeated request with the same hash gets the same response. */
  join: call({
    method: 'POST',
    path: '/api/join',
    authority: 'join',
    summary: 'Join as the worker of a join token',
    body: JoinRequest,
    reply: JoinReply,
  }),
  register: call({
    method: 'POST',
    path: '/api/workers/register',
    authority: 'worker',
    summary: 'Register the machine and its GPUs',
    body: RegisterRequest,
    reply: RegisterReply,
  }),
  stream: call({
    method: 'GET',
    path: '/api/workers/stream',
    authority: 'worker',
    summary: 'Stream commands to the worker',
    query: WorkerQuery,
    reply: WorkerCommand,
    stream: 'text/event-stream',
  }),
  heartbeat: call({
    method: 'POST',
    path: '/api/workers/heartbeat',
    authority: 'worker',
    summary: 'Send a heartbeat with the state of the worker',
    body: Heartbeat,
    reply: HeartbeatReply,
  }),
  queue: call({
    method: 'GET',
    path: '/api/workers/queue',
    authority: 'worker',
    summary: 'Check for pending jobs before an ephemeral worker leaves',
    query: WorkerQuery,
    reply: z.object({ has_jobs: z.boolean().describe('Whether a pending job waits for a worker.') }),
  }),
  reportStatus: call({
    method: 'POST',
    path: '/api/workers/job/:id/status',
    authority: 'worker',
    summary: 'Report that a job starts, progresses or ends',
    params: z.object({ id: JobId }),
    body: StatusReport,
    reply: Success.extend({
      duplicate: z.boolean().optional().describe('Whether the same report was handled before.'),
    }),
  }),
  renewUploadToken: call({
    method: 'POST',
    path: '/api/workers/upload-token',
    authority: 'worker',
    summary: 'Exchange an upload token for one that is valid after a token rotation',
    body: z.strictObject({ upload_token: z.string().max(300).describe('Upload token that the worker has.') }),
    reply: z.object({ upload_token: z.string().describe('Upload token that is valid now.') }),
  }),
  reportTrainerKeys: call({
    method: 'POST',
    path: '/api/workers/trainer-keys',
    authority: 'worker',
    summary: 'Report the config keys of a trainer, so that the server can find misspelt ones',
    body: TrainerKeys,
    reply: Success,
  }),
  disconnect: call({
    method: 'POST',
    path: '/api/workers/disconnect',
    authority: 'worker',
    summary: 'Sign off a worker',
    body: z.object({
      worker_id: WorkerId.nullish().describe(
        'Id of the worker. The token already identifies it; another id is refused.',
      ),
    }),
    reply: Success,
  }),
};
