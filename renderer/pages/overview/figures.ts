import {
  absenceOf,
  isRecentAbsence,
  jobNeed,
  type WorkerNeed,
  workerNeeds,
} from '../../../protocol/attention.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { isWaiting, type JobView } from '../../../protocol/job.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { shownState } from '../workers/facts.ts';
import { isUpdatable } from '../workers/update/facts.ts';
import { useCallback, useState } from 'react';
import type { ValueOf } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useEventReads } from '../../app/use-event-reads.ts';

export type Stats = ValueOf<typeof queueApi.stats>;

/** A problem or request that needs a user's attention. `findNeeds` returns the most urgent first. */
export type Need =
  | { readonly kind: 'silent'; readonly job: JobView }
  | { readonly kind: 'quarantined' | 'duplicate' | 'gpuTrouble'; readonly worker: WorkerView }
  /** No known worker can run this job. The same is true for `more` similar jobs. */
  | { readonly kind: 'unsatisfiable'; readonly job: JobView; readonly more: number }
  /** `count` pending jobs need this offline worker, or one of `others` further offline workers. */
  | {
      readonly kind: 'waitsForOffline';
      readonly worker: WorkerView;
      readonly others: number;
      readonly count: number;
    }
  | { readonly kind: 'approval'; readonly job: JobView }
  /**
   * A worker that is offline although nobody has drained it: its connection broke (`offline`), or it shut down. `at` is
   * the time of its last contact.
   */
  | { readonly kind: 'offline' | 'shutDown'; readonly worker: WorkerView; readonly at: string }
  /** Workers that the server can update. */
  | { readonly kind: 'updates'; readonly workers: readonly WorkerView[] }
  | { readonly kind: 'updateFailed'; readonly worker: WorkerView }
  /** Jobs that failed within the last 24 hours. */
  | { readonly kind: 'failed'; readonly count: number };

export interface Figures {
  readonly workers: number;
  /** Number of connected workers: all except those that are offline or have never connected. */
  readonly online: number;
  /** Number of workers in each state. The sum equals `workers`. */
  readonly states: Readonly<Record<FleetState, number>>;
  readonly gpusBusy: number;
  readonly gpus: number;
  /** Number of pending jobs that need no approval, as on the jobs and queue pages. */
  readonly waiting: number;
  /** Submission time of the job that has been pending longest; null when no job is pending. */
  readonly oldestAt: string | null;
  readonly completed: number;
  readonly failed: number;
}

/** States of a worker on the overview. `never`: the worker was created but has never connected. */
export const fleetStates = [
  'idle',
  'busy',
  'draining',
  'trouble',
  'quarantined',
  'connecting',
  'offline',
  'never',
] as const;
export type FleetState = (typeof fleetStates)[number];

const stateOf = (worker: WorkerView): FleetState =>
  worker.registered_at === null ? 'never' : shownState(worker);

const dayMs = 86_400_000;

/** Computes the figures on the tiles. Completed and failed jobs count only if they ended within the last 24 hours. */
export const computeFigures = (
  workers: Iterable<WorkerView>,
  jobs: ReadonlyMap<JobId, JobView>,
  now: number,
): Figures => ({
  ...workerFigures(workers, jobs),
  ...jobFigures(jobs.values(), now),
});

function workerFigures(workers: Iterable<WorkerView>, jobs: ReadonlyMap<JobId, JobView>) {
  const states: Record<FleetState, number> = {
    idle: 0,
    busy: 0,
    draining: 0,
    trouble: 0,
    quarantined: 0,
    connecting: 0,
    offline: 0,
    never: 0,
  };
  const figures = { workers: 0, online: 0, gpusBusy: 0, gpus: 0 };
  for (const worker of workers) {
    const state = stateOf(worker);
    states[state] += 1;
    figures.workers += 1;
    if (state === 'offline' || state === 'never') continue;
    figures.online += 1;
    figures.gpus += worker.gpu_count;
    figures.gpusBusy += usedGpus(worker, jobs);
  }
  return { ...figures, states };
}

/**
 * Returns the number of GPUs that the current job of a worker uses. A job without a list of allocated GPUs uses all GPUs
 * of the worker. The GPU map uses the same rule.
 */
function usedGpus(
  { current_job_id: id, gpu_count: all }: WorkerView,
  jobs: ReadonlyMap<JobId, JobView>,
): number {
  if (id === null) return 0;
  const listed = jobs.get(id)?.allocated_gpus ?? [];
  return listed.length > 0 ? listed.length : all;
}

function jobFigures(jobs: Iterable<JobView>, now: number) {
  const figures = { waiting: 0, completed: 0, failed: 0 };
  let oldestAt: string | null = null;
  for (const { status, approval, queued_at: queuedAt, completed_at: endedAt } of jobs) {
    if (isWaiting(status)) {
      if (approval === 'wanted') continue;
      figures.waiting += 1;
      if (oldestAt === null || queuedAt < oldestAt) oldestAt = queuedAt;
    }
    const hasResult = status === 'completed' || status === 'failed';
    if (hasResult && endedAt !== null && now - Date.parse(endedAt) < dayMs) figures[status] += 1;
  }
  return { ...figures, oldestAt };
}

type NeedStats = Pick<Stats, 'unsatisfiable' | 'waiting_for_offline' | 'ended_24h'>;

/** Returns the problems and requests to show on the overview, most urgent first. */
export function findNeeds(
  workers: Iterable<WorkerView>,
  jobs: ReadonlyMap<JobId, JobView>,
  stats: NeedStats | null,
  now: number,
): readonly Need[] {
  const allJobs = [...jobs.values()];
  const allWorkers = [...workers];
  const failed = stats?.ended_24h.failed ?? 0;
  const updatable = allWorkers.filter(isUpdatable);
  const awaited = offlineNeeds(allWorkers, jobs, stats?.waiting_for_offline ?? []);
  const isAwaited = (worker: WorkerView): boolean =>
    awaited.some(need => need.worker.id === worker.id && need.others === 0);
  const offline = allWorkers
    .filter(worker => !isAwaited(worker))
    .flatMap(worker => offlineNeed(worker, now) ?? []);
  const workersWith = <K extends WorkerNeed>(kind: K) =>
    allWorkers.filter(worker => workerNeeds(worker).includes(kind)).map(worker => ({ kind, worker }));
  const jobsWith = <K extends 'silent' | 'approval'>(kind: K) =>
    allJobs.filter(job => jobNeed(job) === kind).map(job => ({ kind, job }));
  return [
    ...jobsWith('silent'),
    ...workersWith('quarantined'),
    ...workersWith('gpuTrouble'),
    ...workersWith('duplicate'),
    ...awaited,
    ...offline.filter(({ kind }) => kind === 'offline'),
    ...(stats?.unsatisfiable ?? []).flatMap(({ job_id: id, count }) => {
      const job = jobs.get(id);
      // The job may have been cancelled since the server computed the figures.
      return job !== undefined && isWaiting(job.status)
        ? [{ kind: 'unsatisfiable' as const, job, more: count - 1 }]
        : [];
    }),
    ...jobsWith('approval'),
    ...offline.filter(({ kind }) => kind === 'shutDown'),
    ...workersWith('updateFailed'),
    ...(failed > 0 ? [{ kind: 'failed' as const, count: failed }] : []),
    ...(updatable.length > 0 ? [{ kind: 'updates' as const, workers: updatable }] : []),
  ];
}

/**
 * Returns offline workers that pending jobs need. Skips workers and jobs that have changed since the server
 * computed the figures.
 */
function offlineNeeds(
  workers: readonly WorkerView[],
  jobs: ReadonlyMap<JobId, JobView>,
  waiting: NeedStats['waiting_for_offline'],
): readonly Extract<Need, { kind: 'waitsForOffline' }>[] {
  return waiting.flatMap(({ worker_id: id, worker_count: workerCount, job_id: jobId, count }) => {
    const worker = workers.find(each => each.id === id);
    const job = jobs.get(jobId);
    if (worker?.status !== 'offline' || job === undefined || !isWaiting(job.status)) return [];
    return [{ kind: 'waitsForOffline' as const, worker, others: workerCount - 1, count }];
  });
}

function offlineNeed(worker: WorkerView, now: number): Extract<Need, { readonly at: string }> | null {
  const absence = absenceOf(worker);
  return absence !== null && isRecentAbsence(now - Date.parse(absence.at)) ? { ...absence, worker } : null;
}

/** Minimum interval between reads. It is long, because the server counts all jobs for each answer. */
const readDelayMs = 10_000;

/**
 * Returns figures that only the server can compute; null until loaded, and for users without permission. Reads the
 * figures again after events, and whenever `minute` changes.
 */
export function useStats(minute: number): Stats | null {
  const { client, may } = usePanel();
  const isWanted = may(queueApi.stats);
  const [stats, setStats] = useState<Stats | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      if (!isWanted) return;
      const answer = await client.call(queueApi.stats, { signal });
      if (!signal.aborted && answer.ok) setStats(answer.value);
    },
    [client, isWanted],
  );
  // Read every minute as well, because running jobs accumulate GPU time without events.
  useEventReads(read, readDelayMs, minute);
  return stats;
}
