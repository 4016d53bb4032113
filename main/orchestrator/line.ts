import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { offeringOf, type PendingJob } from './model.ts';
import { createAgenda } from './placement/agenda.ts';
import type { WaitingJob } from './placement/candidates.ts';
import { createPlacementIndex, type Placement, type PlacementIndex } from './placement/placement-index.ts';
import type { Read } from './ports.ts';
import { candidacyOf, type Standing } from './standing.ts';

/**
 * Who waits and who is idle, kept up as jobs and workers change, so that dispatch looks at those alone that have. What
 * has changed is only noted; it is judged, from the stored facts, when the next placement is asked for.
 */
export interface Line {
  /** One that is known to wait, as all do that are there at the start. */
  takeJob(standing: Standing, job: PendingJob): void;
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
  const takeJob = (standing: Standing, job: PendingJob): void => {
    const readyAt = standing.deadlines.backoff.get(job.id) ?? 0;
    if (readyAt <= standing.clock.mono()) return index.addJob(waiting(job));
    index.removeJob(job.id);
    jobs.addAt(job.id, readyAt);
  };
  const judgeJob = (standing: Standing, read: Read, id: JobId): void => {
    const job = read.job(id);
    if (job?.status === 'pending') takeJob(standing, job);
    else index.removeJob(id);
  };
  const judgeWorker = (standing: Standing, read: Read, id: WorkerId): void => {
    const againAt = placeWorker(standing, read, id, index);
    if (againAt !== null) workers.addAt(id, againAt);
  };
  return {
    takeJob,
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
  const { status, reason, isOpen, trialAt } = candidacyOf(standing, read, worker);
  if (isOpen) {
    index.addWorker({ id, offering: offeringOf(worker), order: worker.createdAt });
    return null;
  }
  if (status === 'idle') return trialAt;
  if (reason === 'settling') return standing.presence.of(id)?.settledAt ?? null;
  return reason === 'silent' ? standing.clock.mono() + lookAgainMs : null;
}
