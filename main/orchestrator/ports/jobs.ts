import type { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import type { JobSort } from '../../../protocol/job-search.ts';
import type { ShownStatus } from '../../../protocol/job.ts';
import type { Progress } from '../../../protocol/progress.ts';
import type { Attempt, Job, JobPayload, LateResult, LiveJob, PendingJob, WallMs } from '../model.ts';
import type { JobFilter, JobPlace, StatusCount } from './job-list.ts';

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
