import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { MonoMs, WallMs } from '../model.ts';

/** Deadlines on the monotonic clock. The matching stored times are for display and for the next start. */
export interface Deadlines {
  /** A job is not dispatched again before this. */
  readonly backoff: Map<JobId, MonoMs>;
  /** When the job's attempt started, if it runs, or if it was given up and may still run. */
  readonly attemptStart: Map<JobId, MonoMs>;
  /** After this, a person may stop waiting for an unconfirmed stop. */
  readonly unconfirmed: Map<JobId, MonoMs>;
  /** When the job of a draining worker is stopped. */
  readonly drain: Map<WorkerId, MonoMs>;
  /** When a quarantined worker gets one job on trial. */
  readonly trial: Map<WorkerId, MonoMs>;
  /** Until when a worker that never registered counts as connecting. */
  readonly firstContact: Map<WorkerId, MonoMs>;
  /** When an offline ephemeral worker is removed. */
  readonly removal: Map<WorkerId, MonoMs>;
}

/**
 * How much of a span has passed by the wall clock, the only clock that outlives the process. The result is between 0
 * and `spanMs`, because the clock may have been set meanwhile.
 */
export const passed = (since: WallMs, spanMs: number, wall: WallMs): number =>
  Math.min(Math.max(wall - since, 0), spanMs);

export const createDeadlines = (): Deadlines => ({
  backoff: new Map(),
  attemptStart: new Map(),
  unconfirmed: new Map(),
  drain: new Map(),
  trial: new Map(),
  firstContact: new Map(),
  removal: new Map(),
});
