import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Attempt, Job, WallMs } from '../model.ts';

export interface TimelineFilter {
  readonly from: WallMs;
  readonly to: WallMs;
  /** Only jobs of this user; null for all. */
  readonly user: string | null;
  /** Only attempts of this job; null for all. */
  readonly jobId: JobId | null;
  /** Only attempts on this worker, alone or with others; null for all. Ignored together with `jobId`. */
  readonly workerId: WorkerId | null;
  readonly limit: number;
}

/** An attempt with the facts of its job that a timeline shows. */
export interface TimelineAttempt {
  readonly attempt: Attempt;
  readonly job: Pick<Job, 'id' | 'status' | 'approval' | 'user'> & {
    readonly name: string | null;
    readonly configName: string;
  };
  /** Whether it runs on several workers, which `nodesOf` returns. */
  readonly isShared: boolean;
}

export interface TimelineReads {
  /** Returns the attempts that overlap the range: first the live ones, then the others, the newest end first. */
  attemptsWithin(filter: TimelineFilter): readonly TimelineAttempt[];
}
