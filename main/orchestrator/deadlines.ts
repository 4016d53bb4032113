import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { MonoMs, WallMs } from './model.ts';

/** Moments on the clock that never jumps. The stored times beside them are for people, and for the next start. */
export interface Deadlines {
  /** Before this a job is not dispatched again. */
  readonly backoff: Map<JobId, MonoMs>;
  /** When the attempt of a job began that runs, or that was given up and may still run. */
  readonly begun: Map<JobId, MonoMs>;
  /** An order to stop a job that is not confirmed by then can be given up by a person. */
  readonly unconfirmed: Map<JobId, MonoMs>;
  /** What runs on a draining worker then is stopped. */
  readonly drain: Map<WorkerId, MonoMs>;
  /** A quarantined worker is given one job again. */
  readonly trial: Map<WorkerId, MonoMs>;
  /** A worker that never came counts as connecting until then. */
  readonly firstContact: Map<WorkerId, MonoMs>;
  /** An ephemeral worker that is offline is removed. */
  readonly removal: Map<WorkerId, MonoMs>;
}

/**
 * How long a span has lasted by the wall clock, the only one that outlives the process. It may have been set meanwhile:
 * nothing lasts less than no time, or longer than its span.
 */
export const passed = (since: WallMs, spanMs: number, wall: WallMs): number =>
  Math.min(Math.max(wall - since, 0), spanMs);

export const createDeadlines = (): Deadlines => ({
  backoff: new Map(),
  begun: new Map(),
  unconfirmed: new Map(),
  drain: new Map(),
  trial: new Map(),
  firstContact: new Map(),
  removal: new Map(),
});
