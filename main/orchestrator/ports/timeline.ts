import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Attempt, Job, WallMs } from '../model.ts';

export interface TimelineFilter {
  readonly from: WallMs;
  readonly to: WallMs;
  /** Only jobs of this user; null for all. */
  readonly user: string | null;
  /** Only attempts of this job; null for all. */
  readonly jobId: JobId | null;
  /** Only attempts on this worker, alone or with other workers; null for all. Ignored if `jobId` is set. */
  readonly workerId: WorkerId | null;
  readonly limit: number;
}

/** An attempt, with the facts about its job that a timeline shows. */
export interface TimelineAttempt {
  readonly attempt: Attempt;
  readonly job: Pick<Job, 'id' | 'status' | 'approval' | 'user'> & {
    readonly name: string | null;
    readonly configName: string;
  };
  /** Whether the attempt runs on several workers. `nodesOf` returns them. */
  readonly isShared: boolean;
}

export interface TimelineReads {
  /** Returns the attempts that overlap the range: first live attempts, then ended ones, newest end first. */
  attemptsWithin(filter: TimelineFilter): readonly TimelineAttempt[];
}
