import { workersApi } from '../../../protocol/admin-api.ts';
import type { Call } from '../../../protocol/call.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { Stats } from './use-stats.ts';

/** What somebody should look at, the most pressing first. */
export type Need =
  | { readonly kind: 'silent'; readonly job: JobView }
  | { readonly kind: 'quarantined' | 'duplicate' | 'gpuTrouble'; readonly worker: WorkerView }
  /** No worker that there is could take it; `more` of its kind wait, too. */
  | { readonly kind: 'unsatisfiable'; readonly job: JobView; readonly more: number }
  | { readonly kind: 'approval'; readonly job: JobView };

export interface Figures {
  readonly idle: number;
  readonly busy: number;
  readonly offline: number;
  readonly workers: number;
  readonly gpusBusy: number;
  readonly gpus: number;
  readonly waiting: number;
  /** Of the job that has waited for longest; null when none waits. */
  readonly oldestAt: string | null;
  readonly completed: number;
  readonly failed: number;
}

const dayMs = 86_400_000;

/** What the tiles say; of the jobs that have ended, those of the last 24 hours count. */
export const figuresOf = (workers: Iterable<WorkerView>, jobs: Iterable<JobView>, now: number): Figures => ({
  ...workerFigures(workers),
  ...jobFigures(jobs, now),
});

function workerFigures(workers: Iterable<WorkerView>) {
  const figures = { idle: 0, busy: 0, offline: 0, workers: 0, gpusBusy: 0, gpus: 0 };
  for (const { status, gpu_count: gpus, current_job_id: job } of workers) {
    figures.workers += 1;
    if (status === 'idle') figures.idle += 1;
    if (status === 'busy' || status === 'draining') figures.busy += 1;
    if (status === 'offline') figures.offline += 1;
    else {
      figures.gpus += gpus;
      if (job !== null) figures.gpusBusy += gpus;
    }
  }
  return figures;
}

function jobFigures(jobs: Iterable<JobView>, now: number) {
  const figures = { waiting: 0, completed: 0, failed: 0 };
  let oldestAt: string | null = null;
  for (const { status, queued_at: queuedAt, completed_at: endedAt } of jobs) {
    if (status === 'pending') {
      figures.waiting += 1;
      if (oldestAt === null || queuedAt < oldestAt) oldestAt = queuedAt;
    } else if ((status === 'completed' || status === 'failed') && endedAt !== null)
      if (now - Date.parse(endedAt) < dayMs) figures[status] += 1;
  }
  return { ...figures, oldestAt };
}

export function needsOf(
  workers: Iterable<WorkerView>,
  jobs: ReadonlyMap<JobId, JobView>,
  unsatisfiable: Stats['unsatisfiable'],
): readonly Need[] {
  const known = [...jobs.values()];
  const all = [...workers];
  return [
    ...known.filter(({ hold }) => hold?.kind === 'silent').map(job => ({ kind: 'silent' as const, job })),
    ...all
      .filter(worker => worker.quarantine !== null)
      .map(worker => ({ kind: 'quarantined' as const, worker })),
    // Who is off, often for a reboot that is to help, says anew how it is.
    ...all
      .filter(({ gpu_troubles: troubles, status }) => troubles.length > 0 && status !== 'offline')
      .map(worker => ({ kind: 'gpuTrouble' as const, worker })),
    ...all
      .filter(worker => worker.duplicate !== null)
      .map(worker => ({ kind: 'duplicate' as const, worker })),
    ...unsatisfiable.flatMap(({ job_id: id, count }) => {
      const job = jobs.get(id);
      // It may have been cancelled since that was said.
      return job?.status === 'pending' ? [{ kind: 'unsatisfiable' as const, job, more: count - 1 }] : [];
    }),
    ...known
      .filter(({ status, approval }) => status === 'pending' && approval === 'wanted')
      .map(job => ({ kind: 'approval' as const, job })),
  ];
}

/** What helps. */
export const remedies = {
  silent: queueApi.release,
  quarantined: workersApi.unquarantine,
  gpuTrouble: workersApi.drain,
  duplicate: workersApi.rotateToken,
  unsatisfiable: queueApi.cancel,
  approval: queueApi.approve,
} as const satisfies Readonly<Record<Need['kind'], Call>>;
