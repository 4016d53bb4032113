import type { AfterOn } from '../../../protocol/job-dependencies.ts';
import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { JobSort, JobSearch } from '../../../protocol/job-search.ts';
import type {
  Approval,
  FailureCause,
  JobProgress,
  JobStatus,
  Requirements,
  ShownStatus,
  TrainerConfig,
} from '../../../protocol/job.ts';
import type { RunLink } from '../../../protocol/run-link.ts';
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

/** A pending job, with the fields that placement needs. */
export interface WaitingJob {
  readonly id: JobId;
  readonly requirements: Requirements;
  /** The owner, for the limits per user. */
  readonly user: string;
  /** The team, for fair share and the limits per team; null for no team. */
  readonly team: string | null;
  /** Jobs with a higher level are dispatched first. */
  readonly level: number;
  /** `rank.turn`: within a level, jobs with a lower number are dispatched first. */
  readonly order: number;
  /** The worker of the last attempt. Other workers are tried first. */
  readonly avoid: WorkerId | null;
}

/** A pending job, with the fields that can delay its placement. */
export interface PendingCandidate extends WaitingJob {
  readonly approval: Approval | null;
  /** Number of parents that the job still waits for. */
  readonly unmet: number;
  readonly notBefore: WallMs;
  /** Cause of the last attempt's end; null if there is none. */
  readonly lastCause: FailureCause | null;
  readonly retriesUsed: number;
}

export interface IdleWorker {
  readonly id: WorkerId;
  readonly offering: Offering;
  /** Dataset versions on the rig of the worker. */
  readonly datasets: readonly string[];
  /** Among equal workers, the one with the lowest number is taken first. */
  readonly order: number;
}

export interface JobFilter {
  /** Empty for any status. */
  readonly statuses: readonly ShownStatus[];
  readonly includeFinal: boolean;
  readonly user: string | null;
  /** Only jobs that had an attempt on this worker; null for all. */
  readonly workerId: WorkerId | null;
  readonly search: JobSearch;
  /** If true, selects only jobs that wait for approval. */
  readonly blocked: boolean;
  readonly sort: JobSort;
  readonly isDescending: boolean;
  /** The last job of the previous page; null for the first page. */
  readonly after: JobPosition | null;
  readonly limit: number;
  readonly offset: number;
}

/** The position of a job in a sorted list: the value of its sort key, and its order among jobs with the same value. */
export interface JobPosition {
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

/** Figures about the jobs that ended within a period. */
export interface JobTimes {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /**
   * The wait lasts from the submission to the start of the newest attempt. The run lasts from that start to the end. Both are
   * null when no attempt had started.
   */
  readonly averageWaitMs: number | null;
  readonly averageRunMs: number | null;
}

/** A submission with an idempotency key. A repeated submission with the same key returns the same job. */
export interface KeyedSubmission {
  readonly jobId: JobId;
  /** Hash of the request. */
  readonly fingerprint: string;
  readonly at: WallMs;
}

/** A completed job, for estimates of similar jobs. */
export interface AlikeJob {
  readonly id: JobId;
  readonly attemptId: AttemptId;
  /** Run time of the last attempt. */
  readonly ranMs: number | null;
  /** Steps of the whole training, according to the trainer. */
  readonly steps: number | null;
  /** Whether one attempt did the whole training. */
  readonly isWhole: boolean;
}

/** Jobs and their attempts. */
export interface JobReads {
  job(id: JobId): Job | null;
  jobs(filter: JobFilter): readonly Job[];
  jobPosition(job: JobId, sort: JobSort): JobPosition | null;
  /** Returns the number of matching jobs in each status. The filter cannot select statuses. */
  countFound(
    filter: Pick<JobFilter, 'includeFinal' | 'user' | 'workerId' | 'search'>,
  ): readonly StatusCount[];
  liveJobs(): readonly LiveJob[];
  liveJobOf(worker: WorkerId): LiveJob | null;
  payload(job: JobId): JobPayload | null;
  /** Returns the users' notes about a job; null for none. */
  notesOf(job: JobId): string | null;
  /** Returns the attempts of a job, oldest first. */
  attempts(job: JobId): readonly Attempt[];
  countJobs(): readonly JobCount[];
  jobTimes(since: WallMs): JobTimes;
  /** Returns the total GPU time of all jobs from `since` until `now`, in milliseconds. Deleted jobs are not included. */
  gpuMs(since: WallMs, now: WallMs): number;
  /** Returns some of the newest completed jobs with this `JobSpec.likeness`. `user`: only jobs of this user; null for all. */
  alikeJobs(likeness: string, user: string | null): readonly AlikeJob[];
  /** Returns jobs that ended before this time, the earliest first. Excludes jobs that pending jobs wait for. */
  endedJobs(before: WallMs, limit: number): readonly JobId[];
  /**
   * Returns the newest retry of a chain, preferably one that neither failed nor was cancelled. Returns the root if no
   * retry is stored, and null if the root is not stored either.
   */
  newestRetry(root: JobId): Job | null;
  /** Returns the completed jobs in a chain of retries, newest first, at most 20. */
  completedIn(root: JobId): readonly JobId[];
  /** Whether any job of a chain of retries has completed. */
  hasCompleted(root: JobId): boolean;
  submissionOf(user: string, key: string): KeyedSubmission | null;
}

/** Selects pending jobs that still wait for a job, or for any job of its chain of retries. */
export interface OpenChildren {
  /** The first job of the chain of retries. */
  readonly root: JobId;
  readonly on: AfterOn;
  /** Only children that named this job as their parent; null for children that named any job of the chain. */
  readonly parent: JobId | null;
  /** Only links after this link, for the next batch; null or absent for the first batch. */
  readonly after?: OpenLink | null;
}

/** A pending job, and a parent for which it still waits. */
export interface OpenLink {
  readonly parent: JobId;
  readonly child: JobId;
}

/** Reads of the dependencies between jobs. */
export interface DependencyReads {
  /** Returns links, sorted by parent, then by child. A child that named two jobs of the chain has two links. */
  openChildren(which: OpenChildren, limit: number): readonly OpenLink[];
  /** Returns the roots of all chains that pending jobs still wait for. */
  openRoots(): readonly JobId[];
  /** Returns the jobs that named this job as a parent, oldest first. */
  children(parent: JobId, limit: number): readonly JobId[];
  countChildren(parent: JobId): number;
  /** Whether a pending job still waits for this ended job. */
  isAwaited(job: JobId): boolean;
  /** Returns ended jobs whose children were not released, because the process stopped before that. */
  unreleasedParents(): readonly JobId[];
}

export interface JobWrites {
  insertJob(job: PendingJob, payload: JobPayload): void;
  /**
   * Replaces `was` with `next`, including the newest attempt, if the stored job still has the status and attempt of `was`.
   * Otherwise changes nothing and returns false.
   */
  replaceJob(was: Job, next: Job): boolean;
  setProgress(job: JobId, progress: JobProgress): void;
  /** Replaces the users' notes about a job; null removes them. */
  setNotes(job: JobId, notes: string | null): void;
  setLateResult(attempt: AttemptId, late: LateResult): void;
  /** Replaces the links of an attempt. */
  setLinks(attempt: AttemptId, links: readonly RunLink[]): void;
  nextJobOrder(): number;
  /** Removes a job and everything stored about it, except its events and audit rows. */
  removeJob(job: JobId): void;
  /** Stores a submission, and removes submissions from before `forgetBefore`. */
  rememberSubmission(user: string, key: string, submission: KeyedSubmission, forgetBefore: WallMs): void;
}

/** Pending jobs with the same requirements. */
export interface WaitingKind {
  readonly requirements: Requirements;
  readonly first: JobId;
  readonly count: number;
}

/** Reads of pending jobs and of the queue settings. A queued job is a pending job that waits for no approval or parent. */
export interface QueueReads {
  /** Returns all pending jobs in dispatch order: by level, then by turn. */
  pendingJobs(): readonly PendingJob[];
  /** Returns jobs that wait for other jobs and not for approval, in the order in which they would be dispatched. */
  dependentJobs(limit: number): readonly JobId[];
  /** Returns all pending jobs in any order, with only the fields that placement needs. */
  waitingJobs(): readonly PendingCandidate[];
  /** Returns the queued jobs that are dispatched before this job, in dispatch order. */
  pendingAhead(job: PendingJob, limit: number): readonly PendingJob[];
  /** Returns the queued jobs of the same level on one side of this job, nearest first. */
  neighbours(job: PendingJob, side: 'before' | 'after', limit: number): readonly PendingJob[];
  /** Returns the job's config without its files; null if it is longer than this many characters, or if there is no such job. */
  configOf(job: JobId, maxLength: number): TrainerConfig | null;
  /** Returns the position among the queued jobs; the next job has position 1. */
  position(job: PendingJob): number;
  /** Returns the queued jobs in dispatch order. */
  queuedJobs(limit: number): readonly JobId[];
  /** Returns the queued jobs, grouped by requirements, each group with its first job. `user`: null for all users. */
  waitingKinds(limit: number, user: string | null): readonly WaitingKind[];
  /** Returns the number of queued jobs with target `local`. */
  pendingLocally(): number;
  jobCounts(): { readonly pending: number; readonly blocked: number; readonly live: number };
  /** Returns when the oldest queued job was queued; null for none. */
  oldestPending(): WallMs | null;
  /** Returns pending jobs whose boost is due, the longest overdue first. */
  starvingJobs(now: WallMs, limit: number): readonly PendingJob[];
  /** Returns the highest `rank.top` of pending and live jobs; 0 when no job was moved to the top. */
  highestTop(): number;
  /** Returns the stored settings; null if they were never set. */
  queueSettings(): QueueSettings | null;
}

export interface QueueWrites {
  setQueueSettings(settings: QueueSettings): void;
}
