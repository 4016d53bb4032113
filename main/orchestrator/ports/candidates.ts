import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Approval, FailureCause, Requirements } from '../../../protocol/job.ts';
import type { Offering, WallMs } from '../model.ts';

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
