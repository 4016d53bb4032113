/** Finds the jobs with the best loss. */
import type { JobId } from '../../../protocol/ids.ts';
import type { JobProgress, JobView } from '../../../protocol/job.ts';

/**
 * Returns the best loss of a job; null without one. For a job without a loss curve, this is the last loss. The server
 * uses the same value to sort jobs (`main/store/rows/job-sources.ts`).
 */
export const bestLossOf = (progress: JobProgress | null): number | null =>
  progress?.best_loss ?? progress?.loss ?? null;

/** True for a training loss, false for an evaluation loss. Losses of different kinds are not comparable. */
const isOfTraining = ({ progress }: JobView): boolean => (progress?.best_loss_key ?? 'loss') === 'loss';

/**
 * Returns the job with the best loss; null if fewer than two jobs report comparable losses. Compares evaluation losses
 * if at least two jobs have one, otherwise training losses.
 */
export const lowestLoss = (jobs: Iterable<JobView>): JobId | null => findLowest(jobs)?.id ?? null;

/** Like `lowestLoss`, with the number of jobs that were compared. */
function findLowest(jobs: Iterable<JobView>): { readonly id: JobId; readonly count: number } | null {
  const all = [...jobs].flatMap(job => {
    const loss = bestLossOf(job.progress);
    return loss === null ? [] : [{ id: job.id, loss, isOfTraining: isOfTraining(job) }];
  });
  const evaluated = all.filter(each => !each.isOfTraining);
  const compared = evaluated.length > 1 ? evaluated : all.filter(each => each.isOfTraining);
  if (compared.length < 2) return null;
  const { id } = compared.reduce((best, each) => (each.loss < best.loss ? each : best));
  return { id, count: compared.length };
}

/** Finds the job with the lowest loss in each group. */
function findBest(jobs: Iterable<JobView>): Best {
  const groups = Map.groupBy(jobs, ({ group }) => group);
  groups.delete(null);
  return new Map(
    [...groups.values()].flatMap(group => {
      const best = findLowest(group);
      return best === null ? [] : [[best.id, best.count] as const];
    }),
  );
}

type Jobs = ReadonlyMap<JobId, JobView>;

/** Maps the best job of each group to the number of jobs in the group. */
type Best = ReadonlyMap<JobId, number>;

/** Lets all cells of a table share one result. Every change of the jobs creates a new map, which has no result yet. */
const bestByVersion = new WeakMap<Jobs, Best>();

export function bestOfGroups(jobs: Jobs): Best {
  const before = bestByVersion.get(jobs);
  if (before !== undefined) return before;
  const best = findBest(jobs.values());
  bestByVersion.set(jobs, best);
  return best;
}
