import type { JobId, WorkerId } from '../../protocol/ids.ts';
import type { Requirements } from '../../protocol/job.ts';
import { compileMatcher, type Matcher, type Offering, shapeOf } from './matching.ts';

export interface WaitingJob {
  readonly id: JobId;
  readonly requirements: Requirements;
  /** The worker that had it last: another one is tried first. */
  readonly avoid: WorkerId | null;
}

export interface IdleWorker extends Offering {
  readonly id: WorkerId;
}

export interface Placement {
  readonly jobId: JobId;
  readonly workerId: WorkerId;
}

/**
 * Who runs what now. Jobs come in the order in which they are to be taken, and each gets the fitting worker with the
 * fewest GPUs to spare, so that a big machine stays free for a job that needs it. Each job and each worker at most
 * once; a job that fits nowhere holds up nobody behind it.
 */
export function planDispatch(
  waiting: Iterable<WaitingJob>,
  idle: readonly IdleWorker[],
): readonly Placement[] {
  const free = new Set(idle);
  const matchers = new Map<string, Matcher>();
  const placements: Placement[] = [];
  for (const job of waiting) {
    if (free.size === 0) break;
    const shape = shapeOf(job.requirements);
    const matcher = matchers.get(shape) ?? compileMatcher(job.requirements);
    matchers.set(shape, matcher);
    const worker = best(
      [...free].filter(candidate => matcher(candidate).length === 0),
      job.avoid,
    );
    if (worker === undefined) continue;
    free.delete(worker);
    placements.push({ jobId: job.id, workerId: worker.id });
  }
  return placements;
}

function best(fitting: readonly IdleWorker[], avoid: WorkerId | null): IdleWorker | undefined {
  const [first] = fitting.toSorted(
    (a, b) => Number(a.id === avoid) - Number(b.id === avoid) || a.gpuCount - b.gpuCount,
  );
  return first;
}
