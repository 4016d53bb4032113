import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { MonoMs } from './model.ts';

/** Moments on the clock that never jumps. The stored times beside them are for people, and for the next start. */
export interface Deadlines {
  /** Before this a job is not dispatched again. */
  readonly backoff: Map<JobId, MonoMs>;
  /** When the attempt of a job began. */
  readonly begun: Map<JobId, MonoMs>;
  /** What runs on a draining worker then is stopped. */
  readonly drain: Map<WorkerId, MonoMs>;
  /** A quarantined worker is given one job again. */
  readonly trial: Map<WorkerId, MonoMs>;
  /** A worker that never came counts as connecting until then. */
  readonly firstContact: Map<WorkerId, MonoMs>;
  /** An ephemeral worker that is offline is removed. */
  readonly removal: Map<WorkerId, MonoMs>;
}

export const createDeadlines = (): Deadlines => ({
  backoff: new Map(),
  begun: new Map(),
  drain: new Map(),
  trial: new Map(),
  firstContact: new Map(),
  removal: new Map(),
});
