/** Length of the windows before a fault and after the recovery point, in ms. */
export const windowMs = 10_000;
/** The throughput after a fault should be at least this share of the throughput before the fault. */
export const reach = 0.95;
/** Length of the window that decides when the throughput is reached. Shorter windows contain too few jobs to compare. */
const probeMs = 2_000;
const probeStepMs = 100;

/** Times of a fault in ms, by the clock of the completions. */
export interface FaultTimes {
  readonly from: number;
  /** The recovery point: the moment when the fault is over. */
  readonly to: number;
}

export interface Recovery {
  /** Completed jobs per second in the window that ends when the fault starts. */
  readonly before: number;
  /** Completed jobs per second in the window that starts at the recovery point. */
  readonly after: number;
  /** `after` divided by `before`; NaN when no job completed before the fault. */
  readonly ratio: number;
  /**
   * Time in ms from the recovery point to the start of the first two seconds with at least 95 % of `before`. Null when the ten
   * seconds contain no such two seconds.
   */
  readonly reachedAfterMs: number | null;
}

const rateIn = (completions: readonly number[], from: number, lengthMs: number): number =>
  (1_000 * completions.filter(at => at >= from && at < from + lengthMs).length) / lengthMs;

/** Compares the throughput after a fault with the throughput before it. */
export function computeRecovery(completions: readonly number[], { from, to }: FaultTimes): Recovery {
  const before = rateIn(completions, from - windowMs, windowMs);
  const after = rateIn(completions, to, windowMs);
  let reachedAfterMs: number | null = null;
  for (let ms = 0; reachedAfterMs === null && ms <= windowMs - probeMs; ms += probeStepMs)
    if (before > 0 && rateIn(completions, to + ms, probeMs) >= reach * before) reachedAfterMs = ms;
  return { before, after, ratio: before === 0 ? Number.NaN : after / before, reachedAfterMs };
}

/** Returns the recovery whose ratio is the median. Throws when the list is empty. */
export function medianRecovery(recoveries: readonly Recovery[]): Recovery {
  const sorted = recoveries.toSorted((a, b) => a.ratio - b.ratio);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new Error('There is no recovery.');
  return middle;
}
