/** The best jobs by their loss. */
import type { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';

/** Returns the job with the lowest loss among those that report one; null if fewer than two do. */
export function lowestLoss(jobs: Iterable<JobView>): JobId | null {
  let best: { readonly id: JobId; readonly loss: number } | null = null;
  let count = 0;
  for (const { id, progress } of jobs) {
    const loss = progress?.loss;
    if (loss === undefined) continue;
    count += 1;
    if (best === null || loss < best.loss) best = { id, loss };
  }
  return count < 2 ? null : (best?.id ?? null);
}

/** Returns the job with the lowest loss of each group. */
function findBest(jobs: Iterable<JobView>): ReadonlySet<JobId> {
  const groups = new Map<string, JobView[]>();
  for (const job of jobs) {
    if (job.group === null) continue;
    const group = groups.get(job.group);
    if (group === undefined) groups.set(job.group, [job]);
    else group.push(job);
  }
  return new Set([...groups.values()].flatMap(group => lowestLoss(group) ?? []));
}

type Jobs = ReadonlyMap<JobId, JobView>;

/** Each version of the jobs in memory is a map of its own, so all cells of a table share one result. */
const bestByVersion = new WeakMap<Jobs, ReadonlySet<JobId>>();

export function bestOfGroups(jobs: Jobs): ReadonlySet<JobId> {
  const before = bestByVersion.get(jobs);
  if (before !== undefined) return before;
  const best = findBest(jobs.values());
  bestByVersion.set(jobs, best);
  return best;
}
