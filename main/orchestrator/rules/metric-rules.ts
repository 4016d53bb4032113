import type { AttemptId, WorkerId } from '../../../protocol/ids.ts';
import { metricKeyOf, type MetricPoint } from '../../../protocol/metrics-api.ts';
import { type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Progress } from '../../../protocol/reports.ts';
import type { Attempt, Job } from '../model.ts';
import type { MetricRun } from '../ports/index.ts';
import type { Bucket } from '../ports/outputs.ts';

/**
 * Returns why a worker may not send points of an attempt; null when it may. The attempt must be the worker's own. After
 * the end of an attempt, its worker may still send the last points, which affect only this attempt's curve. If the attempt
 * was taken from the worker, the worker may send points only until a newer attempt exists.
 */
export function metricsRefusal(
  job: Job,
  attempts: readonly Attempt[],
  worker: WorkerId,
  attemptId: AttemptId,
): Refusal | null {
  const reportedAttempt = attempts.find(({ id }) => id === attemptId);
  if (reportedAttempt?.workerId !== worker)
    return refuse('not_your_job', `This attempt of job ${job.id} was not given to this worker`, 'stop')
      .refusal;
  const outcome = reportedAttempt.end?.outcome;
  const wasTaken = outcome === 'given_up' || outcome === 'withdrawn';
  if (!wasTaken || job.attempt?.id === reportedAttempt.id) return null;
  const why = `A newer attempt of job ${job.id} has started: stop the trainer of the older one`;
  return refuse('attempt_superseded', why, 'stop').refusal;
}

/** Returns the points with number `next` or higher, sorted. If several have the same number, keeps the first. */
export function newPoints(points: readonly MetricPoint[], next: number): readonly MetricPoint[] {
  const accepted: MetricPoint[] = [];
  let due = next;
  for (const point of points.toSorted((a, b) => a.n - b.n)) {
    if (point.n < due) continue;
    accepted.push(point);
    due = point.n + 1;
  }
  return accepted;
}

/** Groups the values by key. Makes times non-decreasing, in case a rig reports an earlier time. */
export function samplesByKey(
  points: readonly MetricPoint[],
  lastMs: number,
): ReadonlyMap<string, readonly Sample[]> {
  const samples = new Map<string, Sample[]>();
  let elapsedSoFar = lastMs;
  for (const { elapsed_ms: elapsed, step = null, epoch, values } of points) {
    elapsedSoFar = Math.max(elapsedSoFar, elapsed);
    const all = epoch === undefined ? values : { epoch, ...values };
    for (const [key, value] of Object.entries(all)) {
      const series = samples.get(key);
      if (series === undefined) samples.set(key, [{ step, ms: elapsedSoFar, value }]);
      else series.push({ step, ms: elapsedSoFar, value });
    }
  }
  return samples;
}

/**
 * Converts a progress report to a point, because agents of protocol 1 send no points. These agents repeat their progress in
 * every heartbeat. Returns null for a repeat of the last step, and for a report without values.
 */
export function pointOf(
  progress: Progress,
  { next, lastStep }: Pick<MetricRun, 'next' | 'lastStep'>,
  elapsedMs: number,
): MetricPoint | null {
  const { step, epoch, metrics = {} } = progress;
  if (step !== undefined && step === lastStep) return null;
  const { loss, learning_rate, steps_per_second } = progress;
  const reported = { loss, learning_rate, steps_per_second, ...metrics };
  const values = Object.entries(reported).flatMap(([name, value]) => {
    const key = metricKeyOf(name);
    return key === null || value === undefined ? [] : [[key, value] as const];
  });
  if (values.length === 0) return null;
  return { n: next, elapsed_ms: Math.max(0, elapsedMs), step, epoch, values: Object.fromEntries(values) };
}

// A curve consists of buckets (merged points). When a curve has too many buckets, neighbours are merged to limit its size.

export interface Sample {
  readonly step: number | null;
  readonly ms: number;
  /** Null for a value that is not a finite number. */
  readonly value: number | null;
}

/** Maximum number of buckets of one curve. If a curve has more, merging halves their number. */
export const maxBuckets = 2_048;
/**
 * Number of buckets that a full curve can add before it is merged. Merging takes time, and many curves of a training are
 * full at the same time.
 */
export const extraBuckets = 512;
/** Number of buckets in a stored page. A new value rewrites only the last page. */
export const bucketsOfPage = 64;

function bucketOf({ step, ms, value }: Sample): Bucket {
  const figure = value ?? 0;
  const [count, gaps] = value === null ? [0, 1] : [1, 0];
  const range = { firstStep: step, lastStep: step, firstMs: ms, lastMs: ms };
  return { ...range, count, min: figure, max: figure, mean: figure, last: figure, gaps };
}

function merge(a: Bucket, b: Bucket): Bucket {
  const range = {
    firstStep: a.firstStep ?? b.firstStep,
    lastStep: b.lastStep ?? a.lastStep,
    firstMs: a.firstMs,
    lastMs: b.lastMs,
  };
  const gaps = a.gaps + b.gaps;
  if (a.count === 0 || b.count === 0) return { ...(a.count === 0 ? b : a), ...range, gaps };
  const count = a.count + b.count;
  const [min, max] = [Math.min(a.min, b.min), Math.max(a.max, b.max)];
  // Divide before adding: the sum of two values could overflow.
  const mean = a.mean * (a.count / count) + b.mean * (b.count / count);
  // Rounding can put the mean outside of the range.
  return { ...range, count, min, max, mean: Math.min(max, Math.max(min, mean)), last: b.last, gaps };
}

/** Returns the buckets with new samples at the end. `width`: the number of values per bucket. */
export function grow(buckets: readonly Bucket[], samples: readonly Sample[], width: number): Bucket[] {
  const grown = [...buckets];
  for (const sample of samples) {
    const last = grown.at(-1);
    if (last === undefined || last.count + last.gaps >= width) grown.push(bucketOf(sample));
    else grown[grown.length - 1] = merge(last, bucketOf(sample));
  }
  return grown;
}

/** Merges pairs of neighbours until there are at most `max` buckets. `widened`: the factor by which bucket widths grew. */
export function halve(
  buckets: readonly Bucket[],
  max = maxBuckets,
): { readonly buckets: readonly Bucket[]; readonly widened: number } {
  if (buckets.length <= max) return { buckets, widened: 1 };
  const pairs = groups(buckets, Math.ceil(buckets.length / 2), at => at * 2);
  const { buckets: fewer, widened } = halve(pairs, max);
  return { buckets: fewer, widened: 2 * widened };
}

/** Merges neighbours evenly until there are at most `max` buckets. The lowest and highest values are preserved. */
export const thin = (buckets: readonly Bucket[], max: number): readonly Bucket[] =>
  buckets.length <= max ? buckets : groups(buckets, max, at => Math.floor((at * buckets.length) / max));

/** Merges the buckets of each group. No group may be empty. */
const groups = (
  buckets: readonly Bucket[],
  count: number,
  startOf: (group: number) => number,
): readonly Bucket[] =>
  Array.from({ length: count }, (_, group) =>
    buckets.slice(startOf(group), startOf(group + 1)).reduce(merge),
  );

/** Splits buckets into pages for storage. */
export const pagesOf = (buckets: readonly Bucket[]): readonly (readonly Bucket[])[] =>
  Array.from({ length: Math.ceil(buckets.length / bucketsOfPage) }, (_, page) =>
    buckets.slice(page * bucketsOfPage, (page + 1) * bucketsOfPage),
  );

/** All bounds are inclusive; null for none. */
export interface Range {
  readonly fromStep: number | null;
  readonly toStep: number | null;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Returns the buckets that overlap the range. A range of steps excludes buckets without steps. */
export function within(
  buckets: readonly Bucket[],
  { fromStep, toStep, fromMs, toMs }: Range,
): readonly Bucket[] {
  const overlaps = (first: number | null, last: number | null, from: number | null, to: number | null) => {
    const endsAfterStart = from === null || (last !== null && last >= from);
    const startsBeforeEnd = to === null || (first !== null && first <= to);
    return endsAfterStart && startsBeforeEnd;
  };
  return buckets.filter(
    ({ firstStep, lastStep, firstMs, lastMs }) =>
      overlaps(firstStep, lastStep, fromStep, toStep) && overlaps(firstMs, lastMs, fromMs, toMs),
  );
}
