import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { IdleWorker, WaitingJob } from './candidates.ts';
import { createPairs, type Shape, type WorkerClass } from './pairs.ts';
import { createRanking } from './ranking.ts';

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
  /**
   * The first job in line that an idle worker fits, with the worker that has least to spare, so that a big machine
   * stays free for a job that needs it. Null when there is none. `isHeld` passes over users at their limit.
   */
  next(isHeld: (user: string) => boolean): Placement | null;
}

const byTurn = (a: WaitingJob, b: WaitingJob): number => b.level - a.level || a.order - b.order;

export function createPlacementIndex(): PlacementIndex {
  const pairs = createPairs();
  const jobs = new Map<JobId, Placed>();
  const workers = new Map<WorkerId, WorkerClass>();

  const removeJob = (id: JobId): void => {
    const known = jobs.get(id);
    if (known === undefined) return;
    const { shape, job } = known;
    const line = shape.lines.get(job.user);
    jobs.delete(id);
    line?.delete(id);
    if (line?.size === 0) shape.lines.delete(job.user);
    if (shape.lines.size === 0) pairs.leaveShape(shape);
  };

  const removeWorker = (id: WorkerId): void => {
    const group = workers.get(id);
    if (group === undefined) return;
    workers.delete(id);
    group.idle.delete(id);
    if (group.idle.size > 0) return;
    for (const shape of group.fits) shape.open.delete(group.key);
    pairs.leaveClass(group);
  };

  return {
    addJob(job) {
      removeJob(job.id);
      const shape = pairs.shapeFor(job.requirements);
      const line = shape.lines.get(job.user) ?? createRanking(byTurn);
      shape.lines.set(job.user, line);
      line.set(job.id, job);
      jobs.set(job.id, { job, shape });
    },
    removeJob,
    addWorker(worker) {
      removeWorker(worker.id);
      const group = pairs.classFor(worker.offering);
      group.idle.set(worker.id, worker);
      workers.set(worker.id, group);
      if (group.idle.size === 1) for (const shape of group.fits) shape.open.set(group.key, group);
    },
    removeWorker,
    next(isHeld) {
      const found = firstInLine(pairs.shapes(), isHeld);
      const worker = found && bestFor(found);
      return found && worker ? { jobId: found.job.id, workerId: worker.id } : null;
    },
  };
}

interface Placed {
  readonly job: WaitingJob;
  readonly shape: Shape;
}

interface Found extends Placed {
  /** The one with least to spare of those that fit. */
  readonly group: WorkerClass;
}

function firstInLine(shapes: Iterable<Shape>, isHeld: (user: string) => boolean): Found | null {
  let found: Found | null = null;
  for (const shape of shapes) {
    const group = shape.open.first();
    if (group === undefined) continue;
    for (const [user, line] of shape.lines) {
      const job = line.first();
      if (job === undefined || isHeld(user)) continue;
      if (found === null || byTurn(job, found.job) < 0) found = { job, shape, group };
    }
  }
  return found;
}

function bestFor({ job: { avoid }, shape, group }: Found): IdleWorker | undefined {
  const other = avoid === null ? group.idle.first() : group.idle.first(avoid);
  // Only the avoided one is there: anybody else's class will do, and without any, it.
  return other ?? shape.open.first(group.key)?.idle.first() ?? group.idle.first();
}
