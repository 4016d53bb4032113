import { JobId, WorkerId } from '../../../../../../protocol/ids.ts';
import {
  createPlacementIndex,
  type PlacementIndex,
} from '../../../../../../main/orchestrator/memory/placement/placement-index.ts';
import { makeNeeds, makeOffering } from '../../builders.ts';
import type { IdleWorker, WaitingJob } from '../../../../../../main/orchestrator/ports/jobs.ts';

export const makeWaitingJob = (order: number, changes: Partial<WaitingJob> = {}): WaitingJob => ({
  id: JobId.parse(`j_${order}`),
  requirements: makeNeeds({ gpuCount: 1 }),
  user: 'ada',
  team: null,
  level: 10,
  order,
  avoid: null,
  ...changes,
});

export const makeIdleWorker = (
  order: number,
  changes: Partial<IdleWorker['offering']> = {},
  datasets: readonly string[] = [],
): IdleWorker => ({
  id: WorkerId.parse(`w_${order}`),
  offering: makeOffering({ gpuCount: 1, fetchesData: true, ...changes }),
  datasets,
  order,
});

/** Creates an index with these jobs and workers. */
export function makeIndex(jobs: readonly WaitingJob[], workers: readonly IdleWorker[]): PlacementIndex {
  const index = createPlacementIndex();
  for (const job of jobs) index.addJob(job);
  for (const worker of workers) index.addWorker(worker);
  return index;
}
