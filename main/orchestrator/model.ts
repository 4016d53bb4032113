import { type Permission, permissions } from '../../protocol/call.ts';
import type { AttemptId, JobId, SessionId, TokenId, WorkerId } from '../../protocol/ids.ts';
import type {
  Approval,
  FailureCause,
  FinalStatus,
  JobProgress,
  LiveStatus,
  OnLostContact,
  Requirements,
} from '../../protocol/job.ts';
import type { Bundle } from '../../trainers/index.ts';
import type { JobAbout } from '../../protocol/job-about.ts';
import type { JobData } from '../../protocol/dataset.ts';
import type { AfterOn } from '../../protocol/job-dependencies.ts';
import type { RequestKind } from '../../protocol/requests.ts';
import type { Closed } from '../../protocol/reports.ts';
import type { RunLink } from '../../protocol/run-link.ts';
import type { Capabilities, GpuTrouble, OutputFacts, WorkerType } from '../../protocol/worker.ts';
import type { Registration } from '../../protocol/worker-api.ts';
import type { UpdateId, UpdateOrder, UpdateState, UpdateTime } from '../../protocol/worker-update.ts';
import type { AttemptInput, WantedInput } from './input-model.ts';
import { hasGuard, trainersOfPublishedAgent } from './v1-agent.ts';
import type { Labels } from '../../protocol/text.ts';

/** Milliseconds since 1970 on this machine's wall clock: for display, never for deadlines. */
export type WallMs = number;

/** Milliseconds on the monotonic clock; meaningless outside this process. */
export type MonoMs = number;

/** A trainer on a rig. The name `any` means a program that takes every config. */
export interface TrainerOffer {
  readonly name: string;
  /** The version that the trainer reports; null if it reports none. */
  readonly version: string | null;
}

/** The last registration of an agent. */
export interface AgentFacts {
  readonly capabilities: Capabilities;
  readonly host: string | null;
  readonly persistent: boolean | null;
  readonly labels: Labels;
  readonly protocol: 1 | 2;
  /** Identifies the machine; null from agents that send none. */
  readonly instanceId: string | null;
  /** Changes with every start of the agent; null from agents that send none. */
  readonly startId: string | null;
  /** Number of this registration since the start of the agent; null from agents that send none. */
  readonly registrationNo: number | null;
  /** The network address from which the agent registered. */
  readonly address: string | null;
  readonly agentVersion: string | null;
  /** Updated by heartbeats. Stored, so that a restarted orchestrator dispatches no job to a broken GPU. */
  readonly gpuTroubles: readonly GpuTrouble[];
  /** Why the rig currently takes no jobs; null when it takes jobs. Updated by heartbeats. */
  readonly closed?: Closed | null;
  /** Whether the agent can train a job together with the agents of other machines; absent from agents of earlier versions. */
  readonly isMultiNode?: boolean;
  /** Whether the agent fetches files of other jobs; absent from agents of earlier versions. */
  readonly fetchesInputs?: boolean;
  /** Restricted config keys that the rig's owner allows; null when the agent checks no config. */
  readonly allowedConfigKeys: readonly string[] | null;
  /** Trainers on the rig; null when the agent does not report them. */
  readonly trainers: readonly TrainerOffer[] | null;
  /** The kinds of output that the agent uploads; null when it does not report them. */
  readonly outputs: OutputFacts | null;
  /** Dataset versions on the rig; null when its agent cannot fetch data. */
  readonly datasets: readonly string[] | null;
  /** The agent's program. Null from agents that the server cannot update; absent from agents of earlier versions. */
  readonly program?: ReportedProgram | null;
  readonly registeredAt: WallMs;
}

/** The program that an agent runs, according to its report. */
type ReportedProgram = NonNullable<Registration['program']>;

/** Returns the labels of a worker. The admin's labels override those that the agent reports. */
export const labelsOf = (worker: Worker): Labels => ({ ...worker.agent?.labels, ...worker.labels });

/** A label that lists the allowed config keys of a worker whose agent checks no config, such as SimpleTuner's own agent. */
const allowLabel = 'allow-config-scripts';

const allowedConfigKeysOf = (worker: Worker): readonly string[] =>
  worker.agent?.allowedConfigKeys ??
  (labelsOf(worker)[allowLabel] ?? '').split(',').map(key => key.trim().replaceAll('-', '_'));

/** Returns the trainers on the rig; null before the first registration, and when the agent does not report them. */
const trainersOf = (worker: Worker): readonly string[] | null =>
  worker.agent?.trainers?.map(({ name }) => name) ?? trainersOfPublishedAgent(worker);

/** The properties of a worker that matching uses. */
export interface Offering {
  /** Whether the worker is the orchestrator's own machine. */
  readonly local: boolean;
  /** Number of machines of this worker: a Slurm allocation can have several. The worker takes only jobs for that number. */
  readonly nodes: number;
  /** Whether the worker can be one of several workers that train a job together. */
  readonly isMultiNode: boolean;
  /** GPUs of each machine. */
  readonly gpuCount: number;
  /** Maximum number of GPUs that a job may use; null for all. */
  readonly gpuLimit: number | null;
  /** Memory of each GPU in GiB; 0 if unknown. */
  readonly vramGb: number;
  readonly accelerator: string | null;
  /** Whether a guard can stop the trainer when contact is lost. */
  readonly guarded: boolean;
  /** Restricted config keys that jobs may use on this worker. */
  readonly configKeys: readonly string[];
  /** Whether the agent replaces output folders in the configs of its trainers. */
  readonly replacesOutputs: boolean;
  /** Trainers on the rig, with `any` for a program that takes every config; null if unknown. */
  readonly trainers: readonly string[] | null;
  /** Whether the agent fetches datasets from the orchestrator. */
  readonly fetchesData: boolean;
  /** Whether the agent fetches files of other jobs. */
  readonly fetchesInputs: boolean;
  readonly labels: Labels;
}

/** Returns the properties that jobs are matched against. Before the first registration, unknown properties have defaults. */
export function offeringOf(worker: Worker, { maxLocalGpus }: Pick<QueueSettings, 'maxLocalGpus'>): Offering {
  const { nodes = 1, gpuCount = 0, gpuVramGb = null, accelerator = null } = worker.agent?.capabilities ?? {};
  return {
    local: worker.local,
    nodes,
    isMultiNode: nodes === 1 && worker.agent?.isMultiNode === true,
    gpuCount,
    gpuLimit: worker.local ? maxLocalGpus : null,
    vramGb: gpuVramGb ?? 0,
    accelerator: accelerator?.toLowerCase() ?? null,
    guarded: hasGuard(worker),
    configKeys: allowedConfigKeysOf(worker),
    trainers: trainersOf(worker),
    // Agents that report their trainers also rewrite the configs of these trainers.
    replacesOutputs: (worker.agent?.trainers ?? null) !== null,
    fetchesData: (worker.agent?.datasets ?? null) !== null,
    fetchesInputs: worker.agent?.fetchesInputs === true,
    labels: labelsOf(worker),
  };
}

/** Whether the agent leaves after a job. Also true for an agent that has not reported whether it stays. */
export const leavesAfterJob = (worker: Worker): boolean => worker.agent?.persistent !== true;

/** Whether the worker is removed an hour after it went offline. Before the first registration, the worker's type decides. */
export const isEphemeral = ({ type, agent }: Worker): boolean =>
  !(agent?.persistent ?? type === 'persistent');

export interface Drain {
  readonly reason: string | null;
  readonly by: string;
  readonly since: WallMs;
  /** Time from `since` until a running job is stopped, to run on another worker; null for no deadline. */
  readonly deadlineMs: number | null;
}

/**
 * Several jobs in a row could not start on the worker, or it acknowledged none of several offers. The worker gets no jobs
 * until a trial job, some minutes later.
 */
export interface Quarantine {
  readonly reason: string;
  readonly since: WallMs;
}

/** The author of a change. `admin`: a user or script, whose `id` is the name of the token. */
export type Actor =
  | { readonly type: 'admin'; readonly id: string; readonly address: string | null }
  | { readonly type: 'worker'; readonly id: WorkerId; readonly address: string | null }
  /** The orchestrator itself, or an unauthenticated client if there is an address. */
  | { readonly type: 'system'; readonly address?: string };

export const system: Actor = { type: 'system' };

/** Returns the name of an actor for users. A job belongs to the name of the token that submitted it. */
export const nameOf = (actor: Actor): string => (actor.type === 'system' ? 'system' : actor.id);

export const asWorker = (id: WorkerId): Actor => ({ type: 'worker', id, address: null });

/** Stored facts about a worker. Its status is derived from these and from facts in memory (rules/worker-rules.ts). */
export interface Worker {
  readonly id: WorkerId;
  readonly name: string;
  readonly type: WorkerType;
  /** Whether the worker is the orchestrator's own machine. */
  readonly local: boolean;
  readonly labels: Labels;
  readonly createdAt: WallMs;
  readonly agent: AgentFacts | null;
  readonly drain: Drain | null;
  readonly lastContactAt: WallMs | null;
  /** Why the worker counts as offline, until its next call; null while it is online. */
  readonly gone: 'goodbye' | 'silent' | null;
  /** Whether an attempt has ended here since the agent started. Then an agent that leaves after a job gets no other job. */
  readonly served: boolean;
  /** Consecutive jobs that could not start on this worker. */
  readonly strikes: readonly JobId[];
  readonly quarantine: Quarantine | null;
  /** The update of the worker's program that is in progress, or that failed or stopped. */
  readonly update?: ProgramUpdate | null;
}

/** An update of a worker's program that a user requested. */
export interface ProgramUpdate {
  readonly id: UpdateId;
  /** Shared by the workers of one request. */
  readonly request: UpdateId;
  /** Maximum number of workers of the request that restart at the same time. */
  readonly atOnce: number;
  readonly when: UpdateTime;
  readonly by: string;
  readonly state: UpdateState;
  /** When the update reached this state. */
  readonly since: WallMs;
  /** When the server sent the order to the worker; null before. */
  readonly startedAt: WallMs | null;
  readonly target: Omit<UpdateOrder, 'id'>;
  readonly reason: string | null;
}

/** The config and files of a job, as they were at submission. */
export interface JobPayload extends Bundle {
  /** Datasets that the worker fetches before it starts the trainer; omitted if there are none. */
  readonly data?: readonly JobData[];
}

export interface JobSpec {
  readonly configName: string;
  /** Name, tags and group: the only part of a spec that users can change after the submission. */
  readonly about: JobAbout;
  readonly requirements: Requirements;
  /** The GPU numbers in the config; null when the config names none. */
  readonly devices: readonly number[] | null;
  readonly maxRetries: number;
  /** Causes to retry. Causes outside the trainer are always retried. */
  readonly retryOn: readonly FailureCause[];
  readonly onLostContact: OnLostContact;
  /** Maximum run time of an attempt; null for no limit. */
  readonly timeoutMs: number | null;
  /** The requests that the job's trainer supports, such as to save a checkpoint now. */
  readonly requests: readonly RequestKind[];
  /** A key that is equal for jobs with similar memory and time per step; absent for programs that Trainyard does not know. */
  readonly likeness?: string;
}

/** The values that determine a job's position in the queue. */
export interface Rank {
  /** From 0 to 50, set by a user. */
  readonly priority: number;
  /** Number of boosts because of a long wait. */
  readonly boosts: number;
  /** When the next boost is due while the job waits; null when it cannot be boosted further. */
  readonly boostAt: WallMs | null;
  /** 0 unless the job was moved to the top of the queue; later moves have higher numbers. */
  readonly top: number;
  /** Derived from priority, boosts and top. Higher goes first. */
  readonly level: number;
  /** Lower goes first within a level. Initially the number of the submission. After a move, it can be a fraction. */
  readonly turn: number;
}

/** One dispatch of a job to a worker. Only the newest attempt may change its job. */
export interface Attempt {
  readonly id: AttemptId;
  readonly jobId: JobId;
  /** 1 for the first. */
  readonly n: number;
  readonly workerId: WorkerId;
  readonly offeredAt: WallMs;
  readonly startedAt: WallMs | null;
  readonly end: AttemptEnd | null;
  /** A final report that the worker sent after another attempt had started. It is stored, but has no effect. */
  readonly late: LateResult | null;
  /** The checkpoint to continue from, chosen at the offer. Null without a checkpoint and without steps to repeat. */
  readonly resumed: Resumption | null;
  /** Links to the run at experiment trackers, which the worker found in the log; absent for none. */
  readonly links?: readonly RunLink[];
  /** The input files from other jobs, chosen at the offer; absent for none. */
  readonly inputs?: readonly AttemptInput[];
}

/** The checkpoint from which an attempt continues. */
export interface Resumption {
  /** Null when steps were done but there is no checkpoint: the attempt starts over. */
  readonly checkpoint: string | null;
  readonly step: number | null;
  /** Completed steps that must be repeated; null if unknown. */
  readonly stepsLost: number | null;
}

export interface LateResult {
  readonly at: WallMs;
  readonly status: FinalStatus;
  readonly exitCode: number | null;
}

export interface AttemptEnd {
  readonly at: WallMs;
  /**
   * `requeued`: the attempt ended, and the job was queued again. `given_up`: the server stopped waiting for the worker, which
   * may still run the attempt. `withdrawn`: the worker did not acknowledge the offer.
   */
  readonly outcome: FinalStatus | 'requeued' | 'given_up' | 'withdrawn';
  /** Whether the end used one of the job's retries. */
  readonly charged: boolean;
  readonly cause: FailureCause | null;
  readonly error: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** A job that another job waits for. */
export interface Parent {
  readonly id: JobId;
  /** The first job of the parent's chain of retries. Any job of this chain can complete the work for the child. */
  readonly root: JobId;
  /** Whether the parent has ended as required, with all files that the child takes. Users can then delete the parent. */
  readonly isDone: boolean;
}

/** The jobs that must end before a job starts. */
export interface Dependencies {
  readonly on: AfterOn;
  readonly parents: readonly Parent[];
  /** Absent for a job without inputs. */
  readonly inputs?: readonly WantedInput[];
}

interface JobBase {
  readonly id: JobId;
  /** Order of submission, unique. */
  readonly order: number;
  readonly spec: JobSpec;
  /** The owner: the name of the token that submitted the job. */
  readonly user: string;
  /** The token's team at submission; null for none. */
  readonly team: string | null;
  readonly rank: Rank;
  /** `wanted`: the job is not dispatched until it is approved. Null when it needs no approval. */
  readonly approval: Approval | null;
  /** The ended job that this one repeats; null for none. */
  readonly retryOf: JobId | null;
  /** The first job of a chain of retries; null for a job that is no retry. */
  readonly retryRoot: JobId | null;
  /** Null for a job that waits for no other job. */
  readonly dependencies: Dependencies | null;
  readonly queuedAt: WallMs;
  readonly retriesUsed: number;
  readonly progress: JobProgress | null;
  /** The newest attempt, live or ended; null before the first dispatch. */
  readonly attempt: Attempt | null;
}

export interface PendingJob extends JobBase {
  readonly status: 'pending';
  /** Time before which the job is not dispatched again: the backoff of a retry. */
  readonly notBefore: WallMs;
}

/** An order to stop an attempt before its trainer ends. What happens to the job depends on `why`. */
export interface StopOrder {
  readonly why: 'cancel' | 'timeout' | 'drain' | 'node';
  readonly since: WallMs;
  /** For `node`: how a worker of the attempt failed. Null or absent if it had started no trainer; then the job loses no retry. */
  readonly end?: StopCause | null;
}

/** Why an attempt must end. */
export interface StopCause {
  readonly cause: FailureCause;
  readonly error: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** A live job without a stop order. */
export interface AssignedJob extends JobBase {
  readonly status: Exclude<LiveStatus, 'cancelling'>;
  readonly attempt: Attempt;
}

export interface StoppingJob extends JobBase {
  readonly status: 'cancelling';
  readonly attempt: Attempt;
  readonly stop: StopOrder;
}

export type LiveJob = AssignedJob | StoppingJob;

/** The files that a worker still has to upload after the end of its attempt. */
export interface Outstanding {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /** Number of these files; null until the worker reports it. */
  readonly files: number | null;
  readonly bytes: number | null;
  readonly reason: string | null;
  readonly since: WallMs;
  /** Only `pending` accepts uploads. */
  readonly state: 'pending' | 'done' | 'given_up';
}

export interface EndedJob extends JobBase {
  readonly status: FinalStatus;
  readonly endedAt: WallMs;
  readonly cause: FailureCause | null;
  readonly error: string | null;
}

export type Job = PendingJob | LiveJob | EndedJob;

/** A token of a user or script. Only its hash is stored. */
export interface ApiToken {
  readonly id: TokenId;
  /** Unique. The owner of the jobs that are submitted with this token. */
  readonly name: string;
  /** The team of the jobs that are submitted with this token; null for none. */
  readonly team: string | null;
  readonly permissions: readonly Permission[];
  readonly createdAt: WallMs;
  readonly createdBy: string;
  readonly expiresAt: WallMs | null;
  /** Last use, accurate to minutes. */
  readonly usedAt: WallMs | null;
}

/** A token that turns a machine into a worker, once. Only its hash is stored. */
export interface JoinToken {
  readonly workerId: WorkerId;
  readonly expiresAt: WallMs;
  /** The hash of the worker token for which the join token was used; null while it is unused. */
  readonly usedFor: string | null;
}

/** A caller and its permissions. */
export interface Principal {
  readonly user: string;
  readonly permissions: readonly Permission[];
  /** Null for the admin token. */
  readonly tokenId: TokenId | null;
}

/** The principal of the admin token in the data folder. */
export const adminPrincipal: Principal = { user: 'admin', permissions, tokenId: null };

/** The session of a signed-in browser. It depends on the token with which the user signed in. */
export interface Session {
  readonly id: SessionId;
  /** The name of the token with which the user signed in. */
  readonly user: string;
  /** Null for the admin token. */
  readonly tokenId: TokenId | null;
  /** SHA-256 of the admin token; null for an API token. The session ends when its token is no longer valid. */
  readonly adminHash: string | null;
  /** Browser and operating system, parsed from `User-Agent`. */
  readonly device: string | null;
  readonly address: string | null;
  readonly since: WallMs;
  /** Last use, accurate to minutes. */
  readonly usedAt: WallMs;
  readonly until: WallMs;
}

/** Settings of the queue, which users can change. */
export interface QueueSettings {
  readonly pause: { readonly note: string | null; readonly by: string; readonly since: WallMs } | null;
  /** Maximum number of jobs that run at the same time; null for no limit. */
  readonly maxRunning: number | null;
  /** Maximum number of running jobs per user; null for no limit. */
  readonly maxRunningPerUser: number | null;
  /** Maximum number of running jobs per team, unless `teamLimits` has an entry for it; null for no limit. */
  readonly maxRunningPerTeam: number | null;
  readonly teamLimits: Readonly<Record<string, number | null>>;
  /** Whether teams have limits, and take turns at equal priority. */
  readonly fairShare: boolean;
  /** Users whose new jobs need approval; `*` for all users who may not manage the queue. */
  readonly approvalFor: readonly string[];
  /** Maximum number of GPUs that a job may use on the orchestrator's own machine; null for all. */
  readonly maxLocalGpus: number | null;
  /** Maximum number of jobs at the same time on the orchestrator's own machine; null for no limit. */
  readonly maxLocalJobs: number | null;
}

/** Whether the job is neither pending nor ended. */
export const isLive = (job: Job): job is LiveJob => job.status !== 'pending' && !('endedAt' in job);

/** Returns a job's GPUs as positions in the worker's list: those in the config, or else the first ones. */
export const gpusFor = ({ devices, requirements }: JobSpec): number[] =>
  devices === null ? Array.from({ length: requirements.gpuCount }, (_, n) => n) : [...devices];
