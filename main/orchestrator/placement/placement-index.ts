import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { IdleWorker, WaitingJob } from './candidates.ts';
import { createHolds } from './holds.ts';
import { joinLine, leaveLine } from './lines.ts';
import { createPairs } from './pairs.ts';
import { createRoster } from './roster.ts';
import { byTurn, type Idle, type Shape, type Waiting } from './shape.ts';

export interface Placement {
  readonly jobId: JobId;
  readonly workerId: WorkerId;
}

/**
 * Who waits, and who is free, arranged so that the next placement is found without looking at them all: jobs that want
 * the same make up a shape, idle workers that offer the same a class.
 */
export interface PlacementIndex {
  /** Replaces what was known of this job. */
  addJob(job: WaitingJob): void;
  removeJob(id: JobId): void;
  /** Replaces what was known of this worker. */
  addWorker(worker: IdleWorker): void;
  removeWorker(id: WorkerId): void;
  /** A user at their limit is held: until told otherwise, their jobs, those to come too, are passed over. */
  setHeld(user: string, isHeld: boolean): void;
  /**
   * The first job in line that an idle worker fits, with the worker that has least to spare, so that a big machine
   * stays free for a job that needs it; one on this machine comes after all others, and the one to avoid after those.
   * Null when there is none.
   */
  next(): Placement | null;
  /**
   * Who would get this job, which does not wait yet, if it joined the line now: null when it would not be the next, be
   * it that nobody is there for it or that another goes first. Exact when all that could be placed has been.
   */
  wouldPlace(job: WaitingJob): WorkerId | null;
}

export function createPlacementIndex(): PlacementIndex {
  const pairs = createPairs();
  const jobs = createRoster<Waiting>();
  const workers = createRoster<Idle>();
  const holds = createHolds();

  const dropJob = (job: Waiting | undefined): void => {
    if (job === undefined) return;
    leaveLine(job);
    pairs.leaveShape(job.line.shape);
  };

  const dropWorker = (worker: Idle | undefined): void => {
    if (worker === undefined) return;
    worker.group.idle.drop(worker);
    pairs.leaveClass(worker.group);
  };

  const firstInLine = (): Waiting | undefined => {
    let found: Waiting | undefined;
    for (const shape of pairs.shapes()) {
      const head = shape.open.size > 0 ? holds.firstFree(shape) : undefined;
      if (head !== undefined && (found === undefined || byTurn(head, found) < 0)) found = head;
    }
    return found;
  };

  const bestFor = ({ open }: Shape, avoid: WorkerId | null): WorkerId | undefined => {
    const place = open.first();
    const avoided = avoid === null ? undefined : workers.get(avoid);
    // Only the avoided one is there: anybody else's class will do, and without any, it.
    return (
      place?.group.idle.first(avoided) ??
      open.first(place)?.group.idle.first() ??
      place?.group.idle.first()
    )?.id;
  };

  return {
    addJob(job) {
      dropJob(jobs.set(joinLine(pairs.shapeFor(job.requirements), job)));
    },
    removeJob(id) {
      dropJob(jobs.take(id));
    },
    addWorker({ id, offering, order }) {
      const group = pairs.classFor(offering);
      const worker = { id, order, group, isLive: true };
      group.idle.add(worker);
      dropWorker(workers.set(worker));
    },
    removeWorker(id) {
      dropWorker(workers.take(id));
    },
    setHeld: holds.set,
    next() {
      const job = firstInLine();
      const workerId = job && bestFor(job.line.shape, job.avoid);
      return job && workerId !== undefined ? { jobId: job.id, workerId } : null;
    },
    wouldPlace(job) {
      const ahead = firstInLine();
      if (holds.has(job.user) || (ahead !== undefined && byTurn(ahead, job) < 0)) return null;
      const shape = pairs.shapeFor(job.requirements);
      const workerId = bestFor(shape, job.avoid);
      pairs.leaveShape(shape);
      return workerId ?? null;
    },
  };
}
