import type { Progress } from '../../../protocol/reports.ts';

/** A worker that takes jobs, now or when its current job ends. */
export interface Taker {
  /** Estimated time until the worker takes its next job. */
  readonly freeInMs: number;
  /** Whether the worker takes only one more job, because its agent then leaves. */
  readonly takesOne: boolean;
}

/** The workers that a job needs. */
interface Need<W> {
  readonly fits: (worker: W) => boolean;
  /** Number of workers that the job needs at the same time. */
  readonly count: number;
}

/** Inputs for the prediction of a job's start. */
export interface Outlook<W extends Taker> {
  readonly workers: readonly W[];
  readonly job: Need<W>;
  /** The jobs ahead, in dispatch order. */
  readonly ahead: readonly Need<W>[];
  /** Expected run time of each job ahead; null if unknown. */
  readonly runMs: number | null;
}

interface Slot<W> {
  readonly worker: W;
  freeInMs: number;
}

/** Where and when a job is predicted to start. */
interface Placement<W> {
  readonly inMs: number;
  readonly workers: readonly W[];
}

/**
 * Simulates dispatch of the jobs ahead: each takes the fitting workers that are available first. Returns the predicted
 * start and workers of `job`; null if they cannot be predicted.
 */
export function predictPlacement<W extends Taker>({
  workers,
  job,
  ahead,
  runMs,
}: Outlook<W>): Placement<W> | null {
  const slots = workers.map((worker): Slot<W> => ({ worker, freeInMs: worker.freeInMs }));
  for (const other of ahead) {
    const taken = soonest(slots, other);
    const startMs = taken.at(-1)?.freeInMs ?? 0;
    for (const slot of taken)
      slot.freeInMs = runMs === null || slot.worker.takesOne ? Number.POSITIVE_INFINITY : startMs + runMs;
  }
  const taken = soonest(slots, job);
  const last = taken.at(-1);
  return last === undefined ? null : { inMs: last.freeInMs, workers: taken.map(({ worker }) => worker) };
}

/** Returns the fitting workers that are available first, in this order. Empty if there will never be enough. */
function soonest<W>(slots: readonly Slot<W>[], { fits, count }: Need<W>): readonly Slot<W>[] {
  const first = slots
    .filter(({ freeInMs, worker }) => Number.isFinite(freeInMs) && fits(worker))
    .toSorted((a, b) => a.freeInMs - b.freeInMs)
    .slice(0, count);
  return first.length < count ? [] : first;
}

/**
 * Returns the remaining time of a trainer in ms. Prefers the trainer's own estimate, then its speed, then the completed
 * share and the time since the start. Null if the progress has none of these values.
 */
export function remainingMs(progress: Progress | null, elapsedMs: number | null): number | null {
  if (progress === null) return null;
  const { eta_s: etaS, step, total_steps: total, steps_per_second: speed, percent } = progress;
  if (etaS !== undefined) return etaS * 1000;
  if (step !== undefined && total !== undefined && speed !== undefined && speed > 0)
    return (Math.max(0, total - step) / speed) * 1000;
  const done = step !== undefined && total !== undefined && total > 0 ? step / total : (percent ?? 0) / 100;
  if (done <= 0 || elapsedMs === null) return null;
  return (elapsedMs * (1 - Math.min(1, done))) / done;
}
