import type { AttemptId, JobId, PoolId, WorkerId } from '../../../protocol/ids.ts';
import type { WallMs } from '../model.ts';

/** Energy of a worker on one UTC day. `day`: the number of days since 1970-01-01. */
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

/** Measured energy that is not stored yet. */
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

/** A time span in which an attempt or a launch used GPUs. */
export interface GpuSpan {
  readonly startedAt: WallMs;
  readonly endedAt: WallMs;
  readonly gpus: number;
}

/** Energy and GPU time. */
export interface UsageReads {
  /** Returns the days with stored energy, from day `first` on. */
  energyByDay(first: number): readonly DayEnergy[];
  /** Returns the joules of the job's attempts. Omits attempts without stored energy. */
  energyOfAttempts(job: JobId): ReadonlyMap<AttemptId, number>;
  /**
   * Returns the spans of attempts that ended after `since` or still run. Attempts that began and ended on the same day are
   * summed to one span for that day.
   */
  gpuSpans(since: WallMs, now: WallMs): readonly GpuSpan[];
  /** Returns the spans of launches that ended after `since` or still run. */
  launchSpans(since: WallMs, now: WallMs): readonly (GpuSpan & { readonly poolId: PoolId })[];
}

export interface UsageWrites {
  /** Adds energy to the stored totals. Ignores the energy of deleted jobs. */
  addEnergy(portion: EnergyPortion): void;
  /** Removes the energy of days before this one. */
  trimEnergy(day: number): void;
}
