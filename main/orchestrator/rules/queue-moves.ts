import type { Rank } from '../model.ts';

/**
 * The turns of the jobs around a gap in the queue, the nearest first. The last of each side is a bound: it keeps its turn. The
 * other jobs may get new turns when there is too little room for one more job.
 */
export interface Gap {
  readonly below: readonly number[];
  readonly above: readonly number[];
}

/** New turns: of the job that moves into the gap, and of the nearest jobs on each side, in the order of `Gap`. */
export interface Spread {
  readonly turn: number;
  readonly below: readonly number[];
  readonly above: readonly number[];
}

/** Turns at a smaller distance could become equal, because numbers are not exact. */
const minStep = 2 ** -20;

/**
 * Spreads the job, and as few of its neighbours as necessary, evenly between two jobs that keep their turns. Returns null if
 * that takes more neighbours than the gap lists.
 */
export function spreadInto({ below, above }: Gap): Spread | null {
  const [low = 0] = below;
  const [high = 0] = above;
  for (const [count, bound] of above.entries()) {
    const step = (bound - low) / (count + 2);
    if (step >= minStep)
      return { turn: low + step, below: [], above: steps(count, n => low + step * (n + 2)) };
  }
  for (const [count, bound] of below.entries()) {
    const step = (high - bound) / (count + 2);
    if (step >= minStep) {
      return { turn: high - step, below: steps(count, n => high - step * (n + 2)), above: [] };
    }
  }
  return null;
}

const steps = (length: number, turnOf: (index: number) => number): readonly number[] =>
  Array.from({ length }, (_, index) => turnOf(index));

/** Why a job cannot move next to another: only jobs that go first for the same reason have an order that users can choose. */
export type Boundary = 'target_is_top' | 'job_is_top' | 'priority';

/** Returns the boundary between two jobs of the queue; null when users can choose their order. */
export function boundaryBetween(job: Rank, target: Rank): Boundary | null {
  if (target.top > 0) return job.top > 0 ? null : 'target_is_top';
  if (job.top > 0) return 'job_is_top';
  return job.level === target.level ? null : 'priority';
}

/** The rank of a job after its move next to another. Among jobs at the top, it joins the position of the other job. */
export const rankBeside = (rank: Rank, { top, level }: Rank, turn: number): Rank => ({
  ...rank,
  top,
  level,
  turn,
});
