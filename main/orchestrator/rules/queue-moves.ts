import type { Rank } from '../model.ts';

/**
 * The turns (sort numbers) of the jobs before (`below`) and after (`above`) a gap in the queue, the nearest first. The last
 * job of each side keeps its turn. The other jobs may get new turns if the gap is too small for one more job.
 */
export interface Gap {
  readonly below: readonly number[];
  readonly above: readonly number[];
}

/** The new turns of the moved job, and of the nearest jobs on each side in the order of `Gap`. */
export interface Spread {
  readonly turn: number;
  readonly below: readonly number[];
  readonly above: readonly number[];
}

/** Minimum distance between two turns. Turns that are closer could become equal by rounding. */
const minStep = 2 ** -20;

/**
 * Returns a turn for a job that moves into the gap. If the gap is too small, also moves as few neighbours as necessary on
 * one side. Returns null if that requires more neighbours than the gap lists.
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

/**
 * Why a job cannot move next to another job. Users can choose the order of two jobs only if both have the same level, or if
 * both are at the top.
 */
export type Boundary = 'target_is_top' | 'job_is_top' | 'priority';

/** Returns the boundary between two jobs in the queue; null when users can choose their order. */
export function boundaryBetween(job: Rank, target: Rank): Boundary | null {
  if (target.top > 0) return job.top > 0 ? null : 'target_is_top';
  if (job.top > 0) return 'job_is_top';
  return job.level === target.level ? null : 'priority';
}

/** Returns the rank of a job that moves next to another job: with the other job's `top` and `level`, and its own turn. */
export const rankBeside = (rank: Rank, { top, level }: Rank, turn: number): Rank => ({
  ...rank,
  top,
  level,
  turn,
});
