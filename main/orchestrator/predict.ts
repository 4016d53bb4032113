import type { Progress } from '../../protocol/progress.ts';

/** A worker that takes jobs, now or when the one that it has ends. */
export interface Taker {
  /** Until it takes the next one, as far as can be told. */
  readonly freeInMs: number;
  /** Its agent leaves after that one. */
  readonly takesOne: boolean;
}

type Fits<W> = (worker: W) => boolean;

/** What is known of the time until a job has its turn. */
export interface Outlook<W extends Taker> {
  readonly workers: readonly W[];
  readonly fits: Fits<W>;
  /** Of those that go first, which workers they fit: in the order in which they are taken. */
  readonly ahead: readonly Fits<W>[];
  /** How long each of them is likely to run; null when nobody knows. */
  readonly runMs: number | null;
}

interface Slot<W> {
  readonly worker: W;
  freeInMs: number;
}

/**
 * Lets everybody who goes first take the worker that they fit and that is free soonest, as dispatch would, and answers with
 * when the job's own is free; null when that can't be told.
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

/** Of those alone that will be free. */
function soonest<W>(slots: readonly Slot<W>[], fits: Fits<W>): Slot<W> | undefined {
  let found: Slot<W> | undefined;
  for (const slot of slots) {
    if (slot.freeInMs < (found?.freeInMs ?? Number.POSITIVE_INFINITY) && fits(slot.worker)) found = slot;
  }
  return found;
}

/**
 * How long a trainer still needs: by its own word, else by its measured speed, else by the part that it has done in the
 * time since its start. Null when it tells nothing of that.
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
