import type { Bucket } from '../ports/outputs.ts';
import { lossKeys } from './checkpoint-rules.ts';

/** The training loss. All other loss keys are evaluation losses. */
const trainingKey = 'loss';

/** Share of an attempt's values whose mean counts, because a single training loss is mostly noise. */
const averagedShare = 0.1;

/**
 * A training loss is computed again when its number of points has grown by this factor. So a curve is read a few hundred
 * times in a training, however many points it has.
 */
const growth = 1.05;

/** Returns true if new points with these keys may change the best loss. `before` and `after` are numbers of points. */
export function isBestLossDue(keys: Iterable<string>, before: number, after: number): boolean {
  const losses = [...keys].filter(key => lossKeys.some(each => each === key));
  // Evaluations are rare, so each of them may change the best loss immediately.
  if (losses.some(key => key !== trainingKey)) return true;
  const stage = (count: number): number => Math.floor(Math.log(count + 1) / Math.log(growth));
  return losses.length > 0 && stage(after) > stage(before);
}

/** Returns the key by which a job is judged; null if it reports no loss. */
export const bestLossKey = (measured: readonly string[]): string | null =>
  lossKeys.find(key => measured.includes(key)) ?? null;

/**
 * Returns the lowest loss of the curves of a job's attempts: the lowest evaluation loss, or the lowest mean training loss
 * over a tenth of the values of an attempt. Null without any value.
 */
export function bestLoss(key: string, curves: readonly (readonly Bucket[])[]): number | null {
  const lowestOf = key === trainingKey ? lowestMean : lowestValue;
  const lowest = Math.min(...curves.map(lowestOf));
  return Number.isFinite(lowest) ? lowest : null;
}

const lowestValue = (buckets: readonly Bucket[]): number =>
  buckets.reduce((lowest, { count, min }) => (count === 0 ? lowest : Math.min(lowest, min)), Infinity);

/** Moves a window over the curve that has at least a tenth of its values. */
function lowestMean(buckets: readonly Bucket[]): number {
  const filled = buckets.filter(({ count }) => count > 0);
  const size = Math.max(1, Math.ceil(filled.reduce((sum, { count }) => sum + count, 0) * averagedShare));
  const inWindow: Bucket[] = [];
  let lowest = Infinity;
  let count = 0;
  let sum = 0;
  for (const bucket of filled) {
    inWindow.push(bucket);
    count += bucket.count;
    sum += bucket.mean * bucket.count;
    for (let [first] = inWindow; first !== undefined && count - first.count >= size; [first] = inWindow) {
      inWindow.shift();
      count -= first.count;
      sum -= first.mean * first.count;
    }
    if (count >= size) lowest = Math.min(lowest, sum / count);
  }
  return lowest;
}
