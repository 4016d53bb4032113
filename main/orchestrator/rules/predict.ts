import type { Progress } from '../../../protocol/reports.ts';

/** A worker that takes jobs, now or when its current job ends. */
export interface Taker {
  /** Estimated time until it takes its next job. */
  readonly freeInMs: number;
  /** Whether its agent leaves after that job. */
  readonly takesOne: boolean;
}

type Fits<W> = (worker: W) => boolean;

/** Inputs for the prediction of a job's start. */
export interface Outlook<W extends Taker> {
  readonly workers: readonly W[];
  readonly fits: Fits<W>;
  /** For each job ahead, in dispatch order: which workers it fits. */
  readonly ahead: readonly Fits<W>[];
  /** Expected run time of each of these jobs; null if unknown. */
  readonly runMs: number | null;
}

interface Slot<W> {
  readonly worker: W;
  freeInMs: number;
}

/**
 * Simulates dispatch of the jobs ahead: each takes the fitting worker that is available first. Returns in how many ms
 * this job starts; null if that cannot be predicted.
 */
export function predictStart<W extends Taker>({ workers, fits, ahead, runMs }: Outlook<W>): number | null {
  const slots = workers.map((worker): Slot<W> => ({ worker, freeInMs: worker.freeInMs }));
  for (const other of ahead) {
    const taken = soonest(slots, other);
    if (taken === undefined) continue;
    taken.freeInMs =
      runMs === null || taken.worker.takesOne ? Number.POSITIVE_INFINITY : taken.freeInMs + runMs;
  }
  return soonest(slots, fits)?.freeInMs ?? null;
}

/** The fitting worker that is available first. Ignores workers that never become available. */
function soonest<W>(slots: readonly Slot<W>[], fits: Fits<W>): Slot<W> | undefined {
  let found: Slot<W> | undefined;
  for (const slot of slots) {
    if (slot.freeInMs < (found?.freeInMs ?? Number.POSITIVE_INFINITY) && fits(slot.worker)) found = slot;
  }
  return found;
}

/**
 * Remaining time of a trainer: its own estimate, else from its speed, else from the completed share and the time since
 * its start. Null if the progress has none of these.
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
