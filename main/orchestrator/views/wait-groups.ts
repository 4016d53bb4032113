import type { JobId } from '../../../protocol/ids.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import type { Requirements } from '../../../protocol/job.ts';
import type { Core } from '../core.ts';
import type { PendingJob } from '../model.ts';
import { shapeOf } from '../rules/matching.ts';
import { createExplainer, type Explainer } from './explain.ts';

/** Maximum number of jobs that are grouped, from the front of the queue. */
const maxJobs = 2_000;
/** Maximum number of groups, because each group evaluates all workers. */
const maxGroups = 50;

/** Pending jobs that wait for the same reason. */
export interface WaitGroup {
  readonly reason: string;
  readonly wait: JobWait;
  /** In dispatch order. */
  readonly jobs: readonly JobId[];
  /** The requirements that all jobs share; null if they differ. */
  readonly needs: Requirements | null;
  /** Number of workers that meet the requirements; null if these differ. */
  readonly workers: number | null;
  /** Milliseconds until enough of these workers are free; null if unknown. */
  readonly nextFreeMs: number | null;
}

export interface WaitGroups {
  /** Sorted by the queue position of the first job. */
  readonly groups: readonly WaitGroup[];
  /** Number of pending jobs in no group, because there are too many jobs or groups. */
  readonly ungrouped: number;
}

/** Groups the pending jobs by the reason why they wait. `only`: groups only the jobs of this user; null for all. */
export function groupWaiting(core: Core, only: string | null): WaitGroups {
  const { store } = core;
  const explainer = createExplainer(core, store);
  const groups = new Map<string, PendingJob[]>();
  const { pending, blocked } = store.jobCounts();
  let grouped = 0;
  const ids = [...store.queuedJobs(maxJobs), ...store.dependentJobs(maxJobs)].slice(0, maxJobs);
  for (const id of ids) {
    const job = store.job(id);
    if (job?.status !== 'pending' || (only !== null && job.user !== only)) continue;
    const key = explainer.reasonKey(job);
    const members = groups.get(key) ?? [];
    if (members.length === 0 && groups.size === maxGroups) continue;
    groups.set(key, members);
    members.push(job);
    grouped += 1;
  }
  const total = only === null ? pending - blocked : grouped;
  return {
    groups: [...groups.values()].map(jobs => toGroup(explainer, jobs)),
    ungrouped: total - grouped,
  };
}

/** Creates a group with the explanation of its first job. */
function toGroup(explainer: Explainer, jobs: readonly PendingJob[]): WaitGroup {
  const [first] = jobs;
  if (first === undefined) throw new Error('a group of jobs is empty');
  const needs = first.spec.requirements;
  const shape = shapeOf(needs);
  const isSame = jobs.every(({ spec }) => shapeOf(spec.requirements) === shape);
  const takers = isSame ? explainer.takersFor(needs) : null;
  return {
    ...explainer.why(first),
    jobs: jobs.map(({ id }) => id),
    needs: isSame ? needs : null,
    workers: takers?.count ?? null,
    nextFreeMs: takers?.nextFreeMs ?? null,
  };
}
