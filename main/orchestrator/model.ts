import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import type {
  FailureCause,
  FinalStatus,
  LiveStatus,
  Requirements,
  TrainerConfig,
} from '../../protocol/job.ts';
import type { JobEventType, WorkerEventType } from '../../protocol/events.ts';
import type { Labels } from '../../protocol/labels.ts';
import type { Progress } from '../../protocol/progress.ts';
import type { Capabilities, WorkerType } from '../../protocol/worker.ts';

/** Milliseconds since 1970 by this machine's clock: for people to read, never for deadlines. */
export type WallMs = number;

/** Milliseconds on a clock that only runs forward; meaningless outside this process. */
export type MonoMs = number;

/** What an agent said about itself when it last registered. */
export interface AgentFacts {
  readonly capabilities: Capabilities;
  readonly host: string | null;
  readonly persistent: boolean | null;
  readonly labels: Labels;
  readonly protocol: 1 | 2;
  readonly instanceId: string | null;
  readonly agentVersion: string | null;
  readonly registeredAt: WallMs;
}

/** The admin's labels win over those that the agent brings. */
export const labelsOf = (worker: Worker): Labels => ({ ...worker.agent?.labels, ...worker.labels });

/** Whether the agent leaves after a job, as it said itself; an agent of unknown ways is not kept. */
export const leavesAfterJob = (worker: Worker): boolean => worker.agent?.persistent !== true;

export interface Drain {
  readonly reason: string | null;
  readonly by: string;
  readonly since: WallMs;
}

/** Stored facts about a worker. Its status is derived from them (worker-status.ts). */
export interface Worker {
  readonly id: WorkerId;
  readonly name: string;
  readonly type: WorkerType;
  readonly labels: Labels;
  readonly createdAt: WallMs;
  readonly agent: AgentFacts | null;
  readonly drain: Drain | null;
  readonly lastContactAt: WallMs | null;
  /** Why the worker counts as gone, until its next call. */
  readonly gone: 'goodbye' | 'silent' | null;
  /** An attempt ended here since the agent joined: an agent that leaves after a job gets no other. */
  readonly served: boolean;
}

/** What the trainer is given: kept as it was when the job was submitted, whatever becomes of the file. */
export interface JobPayload {
  readonly config: TrainerConfig;
  readonly dataloader: unknown;
}

export interface JobSpec {
  readonly configName: string;
  readonly requirements: Requirements;
  readonly priority: number;
  readonly maxRetries: number;
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
}

export interface AttemptEnd {
  readonly at: WallMs;
  readonly outcome: FinalStatus | 'requeued' | 'withdrawn';
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

export interface LiveJob extends JobBase {
  readonly status: LiveStatus;
  readonly attempt: Attempt;
}

export interface EndedJob extends JobBase {
  readonly status: FinalStatus;
  readonly endedAt: WallMs;
  readonly cause: FailureCause | null;
  readonly error: string | null;
}

export type Job = PendingJob | LiveJob | EndedJob;

export const isLive = (job: Job): job is LiveJob => job.status !== 'pending' && !('endedAt' in job);

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
    };

export type StoredEvent = EventFact & { readonly seq: number; readonly at: WallMs };
