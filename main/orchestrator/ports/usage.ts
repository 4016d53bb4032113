import type { AttemptId, JobId, PoolId, WorkerId } from '../../../protocol/ids.ts';
import type { WallMs } from '../model.ts';

/** Energy of a worker on one day in UTC. `day` counts from 1970. */
export interface WorkerEnergy {
  readonly workerId: WorkerId;
  readonly day: number;
  readonly joules: number;
  /** False for the worker of a pool: its price already includes the electricity. */
  readonly isOwn: boolean;
}

export interface AttemptEnergy {
  readonly attemptId: AttemptId;
  readonly jobId: JobId;
  readonly joules: number;
}

/** Energy that was measured and is not stored yet. */
export interface EnergyPortion {
  readonly workers: readonly WorkerEnergy[];
  readonly attempts: readonly AttemptEnergy[];
}

/** Energy of all workers on one day, in joules. `own`: without the workers of pools. */
export interface DayEnergy {
  readonly day: number;
  readonly joules: number;
  readonly own: number;
}

/** A span in which something used GPUs. */
export interface GpuSpan {
  readonly startedAt: WallMs;
  readonly endedAt: WallMs;
  readonly gpus: number;
}

/** Energy and GPU time. */
export interface UsageReads {
  /** Returns the days from `first` on that have energy. */
  energyByDay(first: number): readonly DayEnergy[];
  /** Returns the joules of the job's attempts that have any. */
  energyOfAttempts(job: JobId): ReadonlyMap<AttemptId, number>;
  /**
   * Returns spans in which attempts used GPUs, of those that ended after `since` or still run. Attempts that began and
   * ended on one day are summed to one span for that day.
   */
  gpuSpans(since: WallMs, now: WallMs): readonly GpuSpan[];
  /** Returns the launches of pools that ended after `since` or still run. */
  launchSpans(since: WallMs, now: WallMs): readonly (GpuSpan & { readonly poolId: PoolId })[];
}

export interface UsageWrites {
  /** Adds to what is stored. Energy of jobs that were deleted meanwhile is dropped. */
  addEnergy(portion: EnergyPortion): void;
  /** Removes the energy of days before this one. */
  trimEnergy(day: number): void;
}
