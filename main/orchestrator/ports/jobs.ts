import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { JobSort, JobSearch } from '../../../protocol/job-search.ts';
import type { ShownStatus, Approval, JobStatus, FailureCause, Requirements } from '../../../protocol/job.ts';
import type { Progress } from '../../../protocol/reports.ts';
import type {
  Attempt,
  Job,
  JobPayload,
  LateResult,
  LiveJob,
  PendingJob,
  WallMs,
  Offering,
  QueueSettings,
} from '../model.ts';

export interface WaitingJob {
  readonly id: JobId;
  readonly requirements: Requirements;
  /** The owner. Limits count by it. */
  readonly user: string;
  /** Teams take turns at equal priority; null for none. */
  readonly team: string | null;
  /** Higher goes first. */
  readonly level: number;
  /** Within a level, lower goes first. Unique. */
  readonly order: number;
  /** The worker that had it last. Other workers are tried first. */
  readonly avoid: WorkerId | null;
}

/** Adds what may delay the placement. */
export interface PendingCandidate extends WaitingJob {
  readonly approval: Approval | null;
  readonly notBefore: WallMs;
  /** Why its last attempt ended; null if there is no cause. */
  readonly lastCause: FailureCause | null;
  readonly retriesUsed: number;
}

export interface IdleWorker {
  readonly id: WorkerId;
  readonly offering: Offering;
  /** Dataset versions on its rig. */
  readonly datasets: readonly string[];
  /** Lower is taken first among equals. */
  readonly order: number;
}

export interface JobFilter {
  /** Empty for any. */
  readonly statuses: readonly ShownStatus[];
  readonly includeFinal: boolean;
  readonly user: string | null;
  /** The worker of the newest attempt. */
  readonly workerId: WorkerId | null;
  readonly search: JobSearch;
  /** Only jobs that wait for approval. */
  readonly blocked: boolean;
  readonly sort: JobSort;
  readonly isDescending: boolean;
  /** The last job of the previous page; null for the first page. */
  readonly after: JobPlace | null;
  readonly limit: number;
  readonly offset: number;
}

/** A job's position in a sorted list: its sort value, and its order as the tie-breaker. */
export interface JobPlace {
  readonly value: string | number | null;
  readonly order: number;
}

/** The number of jobs in a status. */
export interface StatusCount {
  readonly status: JobStatus;
  readonly approval: Approval | null;
  readonly count: number;
}

/** The number of a user's jobs in a status. */
export interface JobCount {
  readonly user: string;
  readonly status: ShownStatus;
  readonly count: number;
}

/** Figures of the jobs that ended within a period. */
export interface JobTimes {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** From submission to the start of the newest attempt, and from there to the end. Null when none had started. */
  readonly averageWaitMs: number | null;
  readonly averageRunMs: number | null;
}

/** A submission with an idempotency key: the same key means the same job. */
export interface KeyedSubmission {
  readonly jobId: JobId;
  /** The hash of the request. */
  readonly fingerprint: string;
  readonly at: WallMs;
}

/** Jobs and their attempts. */
export interface JobReads {
  job(id: JobId): Job | null;
  jobs(filter: JobFilter): readonly Job[];
  jobPlace(job: JobId, sort: JobSort): JobPlace | null;
  /** Counts the jobs that match the filter by status. Ignores the statuses and states that the filter requests. */
  countFound(
    filter: Pick<JobFilter, 'includeFinal' | 'user' | 'workerId' | 'search'>,
  ): readonly StatusCount[];
  liveJobs(): readonly LiveJob[];
  liveJobOf(worker: WorkerId): LiveJob | null;
  payload(job: JobId): JobPayload | null;
  /** Oldest first. */
  attempts(job: JobId): readonly Attempt[];
  countJobs(): readonly JobCount[];
  jobTimes(since: WallMs): JobTimes;
  /** Total GPU time of all jobs from `since` until `now`, without deleted jobs. */
  gpuMs(since: WallMs, now: WallMs): number;
  /** Jobs that ended before this time, the earliest first. */
  endedJobs(before: WallMs, limit: number): readonly JobId[];
  submissionOf(user: string, key: string): KeyedSubmission | null;
}

export interface JobWrites {
  insertJob(job: PendingJob, payload: JobPayload): void;
  /**
   * Replaces `was` by `next`, including the newest attempt, if the stored job still has the status and attempt of
   * `was`. Otherwise writes nothing and returns false.
   */
  replaceJob(was: Job, next: Job): boolean;
  setProgress(job: JobId, progress: Progress): void;
  setLateResult(attempt: AttemptId, late: LateResult): void;
  nextJobOrder(): number;
  /** Also removes everything stored about the job, except its events and audit rows. */
  removeJob(job: JobId): void;
  /** Also forgets submissions from before `forgetBefore`. */
  rememberSubmission(user: string, key: string, submission: KeyedSubmission, forgetBefore: WallMs): void;
}

/** Pending jobs with the same requirements. */
export interface WaitingKind {
  readonly requirements: Requirements;
  readonly first: JobId;
  readonly count: number;
}

/** The pending jobs in their order, and the settings of the queue. */
export interface QueueReads {
  /** In dispatch order: level, then submission. Includes jobs that wait for approval. */
  pendingJobs(): readonly PendingJob[];
  /** The same jobs in any order, with only what placement needs. */
  waitingJobs(): readonly PendingCandidate[];
  /** The first jobs that are dispatched before this one, in dispatch order. Excludes jobs that wait for approval. */
  pendingAhead(job: PendingJob, limit: number): readonly PendingJob[];
  /** 1 for the next job. Jobs that wait for approval do not count. */
  position(job: PendingJob): number;
  /** The jobs that `position` counts, the next one first. */
  line(limit: number): readonly JobId[];
  /** The same jobs, grouped by requirements, each group with its first job. */
  waitingKinds(limit: number, user: string | null): readonly WaitingKind[];
  /** Number of pending jobs with target `local`, without those that wait for approval. */
  pendingLocally(): number;
  jobCounts(): { readonly pending: number; readonly blocked: number; readonly live: number };
  /** Since when the longest-waiting job waits; null for none. Excludes jobs that wait for approval. */
  oldestPending(): WallMs | null;
  /** Jobs whose boost is due, the longest overdue first. */
  starvingJobs(now: WallMs, limit: number): readonly PendingJob[];
  /** The highest `rank.top` of pending and live jobs; 0 when none was moved to the top. */
  highestTop(): number;
  /** The stored settings; null if they were never set. */
  queueSettings(): QueueSettings | null;
}

export interface QueueWrites {
  setQueueSettings(settings: QueueSettings): void;
}
