import type { JobId } from '../../../protocol/ids.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { PendingJob, QueueSettings, WallMs } from '../model.ts';
import type { PendingCandidate } from './candidates.ts';

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
