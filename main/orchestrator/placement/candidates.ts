import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Approval, FailureCause, Requirements } from '../../../protocol/job.ts';
import type { Offering } from '../matching.ts';
import type { WallMs } from '../model.ts';

export interface WaitingJob {
  readonly id: JobId;
  readonly requirements: Requirements;
  /** Whose it is: limits count by this. */
  readonly user: string;
  /** Teams take turns at equal priority; null for none. */
  readonly team: string | null;
  /** Higher goes first. */
  readonly level: number;
  /** Within a level lower goes first. No two jobs have the same. */
  readonly order: number;
  /** The worker that had it last: another one is tried first. */
  readonly avoid: WorkerId | null;
}

/** With what may keep it from being placed yet. */
export interface JobInLine extends WaitingJob {
  readonly approval: Approval | null;
  readonly notBefore: WallMs;
  /** Why its last attempt ended without a result. */
  readonly lastCause: FailureCause | null;
  readonly retriesUsed: number;
}

export interface IdleWorker {
  readonly id: WorkerId;
  readonly offering: Offering;
  /** Versions of datasets that its rig has. */
  readonly datasets: readonly string[];
  /** Lower is taken first among equals. */
  readonly order: number;
}
