import type { WaitReason } from '../../../protocol/explain.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { Core } from '../core.ts';
import { isLive, type Job, type PendingJob } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { describeParents, unmetOf, waitForParents } from '../rules/dependencies.ts';
import { awaitedBy } from './dependency-views.ts';
import { endInMs, measuredLeft, type Prediction } from './forecast.ts';
import { nameOfJob, shownStatus } from './shown-status.ts';

/** Maximum length of a chain of dependent jobs for which a start is predicted. */
const maxChain = 8;

/** Returns why a job waits for other jobs, as a sentence and in machine-readable form. */
export function parentsReason(
  core: Core,
  read: Read,
  job: PendingJob,
): Pick<WaitReason, 'code' | 'detail'> & { readonly wait: JobWait } {
  const parents = awaitedBy(read, job).map(({ parent, trouble }) => ({
    id: parent.id,
    name: nameOfJob(parent),
    status: shownStatus(parent),
    leftMs: isLive(parent) ? measuredLeft(core, parent) : null,
    trouble,
  }));
  return { code: 'after', detail: describeParents(parents), wait: waitForParents(parents) };
}

/**
 * Returns a function that estimates the ms until all parents of a job have ended: 0 without parents, null if unknown.
 * `predict`: predicts the start of a pending parent. `depth`: the number of dependencies between the job and the requested
 * job.
 */
export function createParentForecast(
  core: Core,
  read: Read,
  predict: (job: PendingJob, depth: number) => Prediction,
): (job: PendingJob, depth: number) => number | null {
  const ends = new Map<JobId, number | null>();
  const estimate = (job: Job, depth: number): number | null => {
    if (job.status !== 'pending') return endInMs(core, read, job);
    const { start } = depth < maxChain ? predict(job, depth + 1) : { start: null };
    return start === null || start.runMs === null ? null : start.inMs + start.runMs;
  };
  const endOf = (job: Job, depth: number): number | null => {
    const cached = ends.get(job.id);
    if (cached !== undefined) return cached;
    const end = estimate(job, depth);
    ends.set(job.id, end);
    return end;
  };
  return (job, depth) => {
    if (unmetOf(job.dependencies) === 0) return 0;
    const all = awaitedBy(read, job).map(({ parent }) => endOf(parent, depth));
    const knownEnds = all.filter(end => end !== null);
    return knownEnds.length < all.length ? null : Math.max(0, ...knownEnds);
  };
}
