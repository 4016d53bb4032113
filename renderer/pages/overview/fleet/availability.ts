/** Predicts the end of a worker's current job, and the next job. */
import type { ValueOf } from '../../../../protocol/client.ts';
import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { shownName } from '../../../../protocol/job-about.ts';
import { maxPredictions, type timelineApi } from '../../../../protocol/timeline-api.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';

/** The server's predictions for all workers. */
export type Outlook = Pick<ValueOf<typeof timelineApi.read>, 'bars' | 'predictions' | 'jobs'>;

export interface Availability {
  /** `closed`: the worker accepts no further jobs. */
  readonly kind: 'free' | 'busy' | 'closed';
  /** Predicted end of the current job in ms since 1970; null without a job, and while the end is unknown. */
  readonly endsAt: number | null;
  /** The pending job that will probably start next on this worker. */
  readonly next: { readonly id: JobId; readonly name: string } | null;
  /** Number of pending jobs that will probably run on this worker. */
  readonly queued: number;
  /** True if more jobs may follow, because the server predicts only the first jobs of the queue. */
  readonly mayQueueMore: boolean;
}

/** `now` is in ms since 1970. Without an outlook, the result is based only on the progress of the current job. */
export function availabilityOf(
  worker: WorkerView,
  job: JobView | undefined,
  outlook: Outlook | null,
  now: number,
): Availability {
  const isClosed = worker.status === 'offline' || worker.drain !== null || worker.quarantine !== null;
  const isHeldBack = worker.status_reason === 'gpu_trouble';
  const isBusy = worker.current_job_id !== null;
  return {
    kind: isClosed || isHeldBack ? 'closed' : isBusy ? 'busy' : 'free',
    endsAt: isBusy ? endOf(worker, job, outlook, now) : null,
    ...(isClosed || isHeldBack ? noneQueued : queuedOn(worker.id, outlook)),
  };
}

function endOf(
  { id, current_job_id: jobId }: WorkerView,
  job: JobView | undefined,
  outlook: Outlook | null,
  now: number,
): number | null {
  const bar = outlook?.bars.find(each => each.worker_id === id && each.job_id === jobId);
  const expectedEnd = bar?.expected_end_at ?? null;
  if (expectedEnd !== null) return Date.parse(expectedEnd);
  const eta = job?.progress?.eta_s;
  return eta === undefined ? null : now + 1_000 * eta;
}

type Queued = Pick<Availability, 'next' | 'queued' | 'mayQueueMore'>;

const noneQueued: Queued = { next: null, queued: 0, mayQueueMore: false };

function queuedOn(id: WorkerId, outlook: Outlook | null): Queued {
  if (outlook === null) return noneQueued;
  const own = outlook.predictions
    .filter(({ worker_ids: ids }) => ids.includes(id))
    .toSorted((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at));
  const job = outlook.jobs.find(each => each.id === own[0]?.job_id);
  return {
    next: job === undefined ? null : { id: job.id, name: shownName(job) },
    queued: own.length,
    mayQueueMore: outlook.predictions.length >= maxPredictions,
  };
}
