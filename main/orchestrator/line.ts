import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { offeringOf, type PendingJob } from './model.ts';
import { createAgenda } from './placement/agenda.ts';
import type { WaitingJob } from './placement/candidates.ts';
import { createPlacementIndex, type Placement, type PlacementIndex } from './placement/placement-index.ts';
import type { Read } from './ports.ts';
import { type Standing, statusOf } from './standing.ts';
import { isDispatchable } from './worker-status.ts';

/**
 * Who waits and who is idle, kept up as jobs and workers change, so that dispatch looks at those alone that have. What
 * has changed is only noted; it is judged, from the stored facts, when the next placement is asked for.
 */
export interface Line {
  noteJob(id: JobId): void;
  noteWorker(id: WorkerId): void;
  /** As far as this transaction sees; null when there is none. */
  next(standing: Standing, read: Read): Placement | null;
}

/** A worker that should have been heard is looked at again this often, until it has been or is known to be gone. */
const lookAgainMs = 1_000;

export function createLine(): Line {
  const index = createPlacementIndex();
  const jobs = createAgenda<JobId>();
  const workers = createAgenda<WorkerId>();
  const judgeJob = (standing: Standing, read: Read, id: JobId): void => {
    const job = read.job(id);
    const readyAt = standing.deadlines.backoff.get(id) ?? 0;
    const isReady = readyAt <= standing.clock.mono();
    if (job?.status !== 'pending' || !isReady) index.removeJob(id);
    if (job?.status !== 'pending') return;
    if (isReady) index.addJob(waiting(job));
    else jobs.addAt(id, readyAt);
  };
  const judgeWorker = (standing: Standing, read: Read, id: WorkerId): void => {
    const againAt = placeWorker(standing, read, id, index);
    if (againAt !== null) workers.addAt(id, againAt);
  };
  return {
    noteJob: jobs.add,
    noteWorker: workers.add,
    next(standing, read) {
      const now = standing.clock.mono();
      for (const id of jobs.take(now)) judgeJob(standing, read, id);
      for (const id of workers.take(now)) judgeWorker(standing, read, id);
      return index.next(nobodyHeld);
    },
  };
}

const nobodyHeld = (): boolean => false;

const waiting = ({ id, order, spec, attempt }: PendingJob): WaitingJob => ({
  id,
  requirements: spec.requirements,
  user: '',
  level: spec.priority,
  order,
  avoid: attempt?.workerId ?? null,
});

/** Answers with the moment at which it may be dispatchable although nothing will have changed. */
function placeWorker(standing: Standing, read: Read, id: WorkerId, index: PlacementIndex): number | null {
  const worker = read.worker(id);
  index.removeWorker(id);
  if (worker === null) return null;
  const now = standing.clock.mono();
  const derived = statusOf(standing, read, worker);
  const trialAt = standing.deadlines.trial.get(id) ?? null;
  if (isDispatchable(derived, worker, trialAt, now)) {
    index.addWorker({ id, offering: offeringOf(worker), order: worker.createdAt });
    return null;
  }
  if (derived.status === 'idle') return trialAt;
  if (derived.reason === 'settling') return standing.presence.of(id)?.settledAt ?? null;
  return derived.reason === 'silent' ? now + lookAgainMs : null;
}
