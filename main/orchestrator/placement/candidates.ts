import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { Offering } from '../matching.ts';

export interface WaitingJob {
  readonly id: JobId;
  readonly requirements: Requirements;
  /** Whose it is: limits count by this. */
  readonly user: string;
  /** Higher goes first. */
  readonly level: number;
  /** Within a level lower goes first. No two jobs have the same. */
  readonly order: number;
  /** The worker that had it last: another one is tried first. */
  readonly avoid: WorkerId | null;
}

export interface IdleWorker {
  readonly id: WorkerId;
  readonly offering: Offering;
  /** Lower is taken first among equals. */
  readonly order: number;
}
