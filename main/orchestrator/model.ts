import type { Permission } from '../../protocol/call.ts';
import type { AttemptId, JobId, SessionId, TokenId, WorkerId } from '../../protocol/ids.ts';
import type {
  Approval,
  FailureCause,
  FinalStatus,
  LiveStatus,
  OnLostContact,
  Requirements,
} from '../../protocol/job.ts';
import type { Bundle } from '../../trainers/index.ts';
import { JobEventType, type jobUpdates, QueueEventType, WorkerEventType } from '../../protocol/events.ts';
import type { JobData } from '../../protocol/dataset.ts';
import type { Labels } from '../../protocol/labels.ts';
import type { Progress } from '../../protocol/progress.ts';
import type { RequestKind } from '../../protocol/requests.ts';
import type { Offering } from './matching.ts';
import type { Capabilities, GpuTrouble, OutputFacts, WorkerType } from '../../protocol/worker.ts';

/** Milliseconds since 1970 by this machine's clock: for people to read, never for deadlines. */
export type WallMs = number;

/** Milliseconds on a clock that only runs forward; meaningless outside this process. */
export type MonoMs = number;

/** A trainer of a rig; `any` is a program that takes every config. */
export interface TrainerOffer {
  readonly name: string;
  /** As the trainer names it; null where it does not. */
  readonly version: string | null;
}

/** What an agent said about itself when it last registered. */
export interface AgentFacts {
  readonly capabilities: Capabilities;
  readonly host: string | null;
  readonly persistent: boolean | null;
  readonly labels: Labels;
  readonly protocol: 1 | 2;
  /** The machine's own; null from agents that send none. */
  readonly instanceId: string | null;
  /** New with every start of the agent; null from agents that send none. */
  readonly startId: string | null;
  /** Of the introductions of that start. */
  readonly registrationNo: number | null;
  /** Where it registered from. */
  readonly address: string | null;
  readonly agentVersion: string | null;
  /** As it has said since, too: kept, so that a restart of the orchestrator gives nothing to a broken GPU. */
  readonly gpuTroubles: readonly GpuTrouble[];
  /** Restricted config keys that the rig's owner allows; null when the agent checks no config. */
  readonly allowedConfigKeys: readonly string[] | null;
  /** Trainers that the rig has; null when the agent does not say. */
  readonly trainers: readonly TrainerOffer[] | null;
  /** Null when the agent does not report it. */
  readonly outputs: OutputFacts | null;
  /** Versions of datasets that the rig had; null when its agent cannot fetch data. */
  readonly datasets: readonly string[] | null;
  readonly registeredAt: WallMs;
}

/** The admin's labels win over those that the agent brings. */
export const labelsOf = (worker: Worker): Labels => ({ ...worker.agent?.labels, ...worker.labels });

/** The label that allows config keys on workers whose agents check no config themselves, such as the published one. */
const allowLabel = 'allow-config-scripts';

const allowedConfigKeysOf = (worker: Worker): readonly string[] =>
  worker.agent?.allowedConfigKeys ??
  (labelsOf(worker)[allowLabel] ?? '').split(',').map(key => key.trim().replaceAll('-', '_'));

/** The published agent starts SimpleTuner with any config that it is given. */
const publishedTrainers: readonly string[] = ['simpletuner', 'command'];

/** Null before the first registration, and of an agent that does not say. */
const trainersOf = ({ agent }: Worker): readonly string[] | null =>
  agent?.trainers?.map(({ name }) => name) ?? (agent?.protocol === 1 ? publishedTrainers : null);

/** What jobs are matched with. Of a worker that never came nothing is known. */
export function offeringOf(worker: Worker, { maxLocalGpus }: Pick<QueueSettings, 'maxLocalGpus'>): Offering {
  const { gpuCount = 0, gpuVramGb = null, accelerator = null } = worker.agent?.capabilities ?? {};
  return {
    local: worker.local,
    gpuCount,
    gpuLimit: worker.local ? maxLocalGpus : null,
    vramGb: gpuVramGb ?? 0,
    accelerator: accelerator?.toLowerCase() ?? null,
    guarded: worker.agent?.protocol === 2,
    configKeys: allowedConfigKeysOf(worker),
    trainers: trainersOf(worker),
    // Agents that name their trainers write the configs of these anew.
    replacesOutputs: (worker.agent?.trainers ?? null) !== null,
    fetchesData: (worker.agent?.datasets ?? null) !== null,
    labels: labelsOf(worker),
  };
}

/** Whether the agent leaves after a job, as it said itself; an agent of unknown ways is not kept. */
export const leavesAfterJob = (worker: Worker): boolean => worker.agent?.persistent !== true;

/** Whether it is removed an hour after it went offline: as its agent last registered, and before that as it was created. */
export const isEphemeral = ({ type, agent }: Worker): boolean =>
  !(agent?.persistent ?? type === 'persistent');

export interface Drain {
  readonly reason: string | null;
  readonly by: string;
  readonly since: WallMs;
  /** After `since`: what still runs then is stopped and given to another worker. Null for no deadline. */
  readonly deadlineMs: number | null;
}

/** Several jobs in a row could not start here: no further one is given, until one is tried again. */
export interface Quarantine {
  readonly reason: string;
  readonly since: WallMs;
}

/** Who did it: a person or script by the name of their token, a worker, or the orchestrator on its own. */
export type Actor =
  | { readonly type: 'admin'; readonly id: string; readonly address: string | null }
  | { readonly type: 'worker'; readonly id: WorkerId; readonly address: string | null }
  /** With an address: somebody whom it does not know. */
  | { readonly type: 'system'; readonly address?: string };

export const system: Actor = { type: 'system' };

/** As whom people know them; jobs belong to whoever holds the token that they were submitted with. */
export const nameOf = (actor: Actor): string => (actor.type === 'system' ? 'system' : actor.id);

export const asWorker = (id: WorkerId): Actor => ({ type: 'worker', id, address: null });

/** Stored facts about a worker. Its status is derived from them (worker-status.ts). */
export interface Worker {
  readonly id: WorkerId;
  readonly name: string;
  readonly type: WorkerType;
  /** The orchestrator's own machine. */
  readonly local: boolean;
  readonly labels: Labels;
  readonly createdAt: WallMs;
  readonly agent: AgentFacts | null;
  readonly drain: Drain | null;
  readonly lastContactAt: WallMs | null;
  /** Why the worker counts as gone, until its next call. */
  readonly gone: 'goodbye' | 'silent' | null;
  /** An attempt ended here since the agent joined: an agent that leaves after a job gets no other. */
  readonly served: boolean;
  /** Jobs that could not start here, one after the other, without another's success between them. */
  readonly strikes: readonly JobId[];
  readonly quarantine: Quarantine | null;
}

/** What the trainer is given: kept as it was when the job was submitted, whatever becomes of the files. */
export interface JobPayload extends Bundle {
  /** Datasets that the worker fetches before the start; left out for none. */
  readonly data?: readonly JobData[];
}

export interface JobSpec {
  readonly configName: string;
  readonly requirements: Requirements;
  /** The GPUs that the config names, by their numbers on the worker; null when any will do. */
  readonly devices: readonly number[] | null;
  readonly maxRetries: number;
  /** Causes that are tried again beside those outside the trainer. */
  readonly retryOn: readonly FailureCause[];
  readonly onLostContact: OnLostContact;
  /** The longest that an attempt may run. */
  readonly timeoutMs: number | null;
  /** What its trainer may be asked for. How, its config alone says. */
  readonly requests: readonly RequestKind[];
}

/** What decides when a job has its turn. */
export interface Rank {
  /** 0 to 50, as somebody has set it. */
  readonly priority: number;
  /** How often it was raised because it had waited for long. */
  readonly boosts: number;
  /** When it is raised again, while it waits; null when it can be raised no more. */
  readonly boostAt: WallMs | null;
  /** 0, or higher the later it was moved to the top of the queue. */
  readonly top: number;
  /** Higher goes first, and within a level the order of submission decides: follows from the rest. */
  readonly level: number;
}

/** One dispatch of a job: the unit of authority. Only the current one may change its job. */
export interface Attempt {
  readonly id: AttemptId;
  readonly jobId: JobId;
  /** 1 for the first. */
  readonly n: number;
  readonly workerId: WorkerId;
  readonly offeredAt: WallMs;
  readonly startedAt: WallMs | null;
  readonly end: AttemptEnd | null;
  /** What its worker reported after another attempt had taken over: kept, and changing nothing. */
  readonly late: LateResult | null;
  /** What it goes on from, as was decided when it was offered; null where none had done anything before it. */
  readonly resumed: Resumption | null;
}

/** What an attempt goes on from. */
export interface Resumption {
  /** Null: there was none, and it begins anew. */
  readonly checkpoint: string | null;
  readonly step: number | null;
  /** Steps that had been done and have to be done again; null where nobody knows. */
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
   * `requeued`: it is over, and the job is tried again. `given_up`: its worker was silent for too long, and may still
   * run it. `withdrawn`: the offer was not acknowledged.
   */
  readonly outcome: FinalStatus | 'requeued' | 'given_up' | 'withdrawn';
  /** Whether its end cost the job one of its retries. */
  readonly charged: boolean;
  readonly cause: FailureCause | null;
  readonly error: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

interface JobBase {
  readonly id: JobId;
  /** Order of submission, unique. */
  readonly order: number;
  readonly spec: JobSpec;
  /** Whose it is: the name of the token that it was submitted with. */
  readonly user: string;
  /** The team of that token when the job was submitted; null for none. */
  readonly team: string | null;
  readonly rank: Rank;
  /** `wanted`: it gets no worker before somebody has approved of it. Null when nobody needs to. */
  readonly approval: Approval | null;
  /** The job that it was submitted again for. */
  readonly retryOf: JobId | null;
  readonly queuedAt: WallMs;
  readonly retriesUsed: number;
  readonly progress: Progress | null;
  /** The newest attempt, live or ended; null before the first dispatch. */
  readonly attempt: Attempt | null;
}

export interface PendingJob extends JobBase {
  readonly status: 'pending';
  /** Not dispatched earlier: backoff after a retry. */
  readonly notBefore: WallMs;
}

/** An order to end an attempt before its trainer does: what becomes of the job follows from who gave it. */
export interface StopOrder {
  readonly why: 'cancel' | 'timeout' | 'drain';
  readonly since: WallMs;
}

export interface HeldJob extends JobBase {
  readonly status: Exclude<LiveStatus, 'cancelling'>;
  readonly attempt: Attempt;
}

export interface StoppingJob extends JobBase {
  readonly status: 'cancelling';
  readonly attempt: Attempt;
  readonly stop: StopOrder;
}

export type LiveJob = HeldJob | StoppingJob;

/** The uploads that a worker still owes after the end of its attempt. */
export interface Outstanding {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  /** Null until the worker reports it. */
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

/** What a person or a script calls with; its secret is kept as a hash alone. */
export interface ApiToken {
  readonly id: TokenId;
  /** Of nobody else: jobs belong to it. */
  readonly name: string;
  /** The team that its jobs count for; null for none. */
  readonly team: string | null;
  readonly permissions: readonly Permission[];
  readonly createdAt: WallMs;
  readonly createdBy: string;
  readonly expiresAt: WallMs | null;
  /** Not written with every call. */
  readonly usedAt: WallMs | null;
}

/** What makes a machine a worker, once; its secret is kept as a hash alone. */
export interface JoinToken {
  readonly workerId: WorkerId;
  readonly expiresAt: WallMs;
  /** The hash of the worker token that it was used for; null while it was not. */
  readonly usedFor: string | null;
}

/** Somebody who calls, and what they may do. */
export interface Principal {
  readonly user: string;
  readonly permissions: readonly Permission[];
  /** Null for the admin token. */
  readonly tokenId: TokenId | null;
}

/** A signed-in browser, bound to the token that it was signed in with. */
export interface Session {
  readonly id: SessionId;
  /** The name of that token. */
  readonly user: string;
  /** Null for the admin token. */
  readonly tokenId: TokenId | null;
  /** SHA-256 of the admin token; null for an API token. A session ends when either is no longer valid. */
  readonly adminHash: string | null;
  /** Browser and system, as the `User-Agent` named them. */
  readonly device: string | null;
  readonly address: string | null;
  readonly since: WallMs;
  /** Not written with every call. */
  readonly usedAt: WallMs;
  readonly until: WallMs;
}

/** How the queue is run, as people have set it. */
export interface QueueSettings {
  readonly pause: { readonly note: string | null; readonly by: string; readonly since: WallMs } | null;
  /** The most jobs that run at once; null for any number. */
  readonly maxRunning: number | null;
  /** Of one user. */
  readonly maxRunningPerUser: number | null;
  /** Of one team, unless the team has a limit of its own. */
  readonly maxRunningPerTeam: number | null;
  readonly teamLimits: Readonly<Record<string, number | null>>;
  /** Teams have limits, and take turns at equal priority. */
  readonly fairShare: boolean;
  /** Users whose new jobs need approval; `*` for all who may not manage the queue. */
  readonly approvalFor: readonly string[];
  /** GPUs that a job may use on the orchestrator's own machine; null for all. */
  readonly maxLocalGpus: number | null;
  /** Jobs at once on the orchestrator's own machine; null for no limit. */
  readonly maxLocalJobs: number | null;
}

export const isLive = (job: Job): job is LiveJob => job.status !== 'pending' && !('endedAt' in job);

/** A job's GPUs by their positions in its worker's list: those that its config names, else the first ones. */
export const gpusFor = ({ devices, requirements }: JobSpec): number[] =>
  devices === null ? Array.from({ length: requirements.gpuCount }, (_, n) => n) : [...devices];

/** A row of the event log, as stored; its view is added when it is sent. */
export type EventFact =
  | { readonly kind: 'worker'; readonly type: WorkerEventType; readonly workerId: WorkerId }
  | {
      readonly kind: 'job';
      readonly type: JobEventType;
      readonly jobId: JobId;
      readonly workerId: WorkerId | null;
      readonly attempt: number;
      readonly cause: FailureCause | null;
      /** Of a job that this event deletes: nothing else tells later whose it was. */
      readonly user?: string;
    }
  | { readonly kind: 'queue'; readonly type: QueueEventType };

/** A row of the audit trail, as it is written: one an act or transition, in the transaction that carries it out. */
export interface AuditFact {
  readonly at: WallMs;
  readonly type: AuditType;
  readonly actor: Actor;
  readonly target:
    | { readonly type: 'worker'; readonly id: WorkerId }
    | { readonly type: 'job'; readonly id: JobId }
    | { readonly type: 'queue'; readonly id: 'queue' }
    | { readonly type: 'user'; readonly id: string }
    | { readonly type: 'settings'; readonly id: 'settings' }
    | { readonly type: 'config'; readonly id: string }
    | { readonly type: 'dataset'; readonly id: string }
    | { readonly type: 'token'; readonly id: TokenId }
    | { readonly type: 'session'; readonly id: SessionId }
    /** Method and path. */
    | { readonly type: 'call'; readonly id: string }
    | { readonly type: 'audit'; readonly id: 'audit' }
    | { readonly type: 'backup'; readonly id: string };
  /** What is worth knowing beside that; no secrets. */
  readonly details: Readonly<Record<string, unknown>>;
}

const settingsTypes = [
  'settings.network_changed',
  'settings.tls_changed',
  // Another certificate is shown by TLS: made, renewed, or read from other files.
  'settings.certificate_changed',
  // Other machines are spoken to without TLS: at a start, too.
  'settings.exposed',
  'settings.public_url_changed',
  'settings.local_worker_changed',
  'settings.audit_retention_changed',
  'settings.gpu_troubles_changed',
] as const;
export type SettingsFactType = (typeof settingsTypes)[number];

/** Beside what events tell of. */
const ownTypes = [
  ...settingsTypes,
  // Of a job: a file that its trainer has brought, and one that somebody has deleted.
  'artifact.stored',
  'artifact.deleted',
  // The worker's uploads of a completed job: all of them done, or given up by a person.
  'artifact.uploads_done',
  'artifact.uploads_given_up',
  'dataset.pushed',
  'dataset.pinned',
  'dataset.unpinned',
  'dataset.removed',
  'config.created',
  'config.replaced',
  'config.deleted',
  'config.change_failed',
  'job.report_refused',
  'auth.signed_in',
  'auth.signed_out',
  'auth.refused',
  'auth.limited',
  // A browser signs in; a person ends its session; its token or its time ends it.
  'session.created',
  'session.revoked',
  'session.expired',
  'token.created',
  'token.revoked',
  'backup.made',
  // Of the trail itself: old rows removed, a backup in its place, its head gone, an older database in its place.
  'audit.trimmed',
  'audit.restored',
  'audit.head_lost',
  'audit.rolled_back',
  // More rows of one kind from one source than are written down: how many.
  'audit.repeated',
] as const;

export type AuditType =
  | WorkerEventType
  | QueueEventType
  | Exclude<JobEventType, (typeof jobUpdates)[number]>
  | (typeof ownTypes)[number];

/** Every type that a row of the audit trail can have. */
export const auditTypes: readonly AuditType[] = [
  ...WorkerEventType.options,
  ...JobEventType.exclude(['job.progress', 'job.outstanding']).options,
  ...QueueEventType.options,
  ...ownTypes,
];

export type StoredEvent = EventFact & { readonly seq: number; readonly at: WallMs };
