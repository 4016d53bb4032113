import { shownName } from '../../../protocol/job-about.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';

/**
 * Finds the job to compare `job` with: the job that it retries, or else the newest earlier job with the same name. Skips
 * jobs that never started, and jobs of the same sweep, which has its own comparison. Returns null if there is none.
 */
export function previousRun(job: JobView, jobs: Iterable<JobView>): JobId | null {
  if (job.retry_of !== null) return job.retry_of;
  const name = shownName(job);
  let previous: JobView | null = null;
  for (const other of jobs) {
    if (other.id === job.id || other.attempt === 0 || other.queued_at > job.queued_at) continue;
    if (shownName(other) !== name || isOfSameSweep(other, job)) continue;
    if (previous === null || other.queued_at > previous.queued_at) previous = other;
  }
  return previous?.id ?? null;
}

const isOfSameSweep = (one: JobView, other: JobView): boolean =>
  one.sweep !== null && one.group !== null && one.group === other.group;
