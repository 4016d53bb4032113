import type { WorkerId } from '../../../protocol/ids.ts';
import type { LiveJob, Read } from '../ports/index.ts';

/**
 * Returns the same store, but reads the live jobs of all workers in one query, for callers that look at every worker.
 * Use it only within this turn of the event loop: later, its jobs are outdated.
 */
export function withBatchedReads(read: Read): Read {
  let known: ReadonlyMap<WorkerId, LiveJob> | null = null;
  const jobs = (): ReadonlyMap<WorkerId, LiveJob> =>
    (known ??= new Map(read.liveJobs().map(job => [job.attempt.workerId, job])));
  return { ...read, liveJobOf: worker => jobs().get(worker) ?? null };
}
