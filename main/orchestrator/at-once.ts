import type { WorkerId } from '../../protocol/ids.ts';
import type { LiveJob, Read } from './ports.ts';

/**
 * The same store for whoever looks at every worker: their jobs are read together, and not one by one, each of which costs a
 * look at the database. True of this turn of the event loop: not to be kept.
 */
export function atOnce(read: Read): Read {
  let known: ReadonlyMap<WorkerId, LiveJob> | null = null;
  const jobs = (): ReadonlyMap<WorkerId, LiveJob> =>
    (known ??= new Map(read.liveJobs().map(job => [job.attempt.workerId, job])));
  return { ...read, liveJobOf: worker => jobs().get(worker) ?? null };
}
