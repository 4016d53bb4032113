import type { Bucket } from '../ports/outputs.ts';
import { lossKeys } from './checkpoint-rules.ts';

/** The training loss. All other loss keys are evaluation losses. */
const trainingKey = 'loss';

/** Share of an attempt's values to average, because a single training loss is mostly noise. */
const averagedShare = 0.1;

/**
 * The best training loss is computed again when the number of points has grown by this factor. So a curve is read only a
 * few hundred times during a training.
 */
const growth = 1.05;

/**
 * Whether to compute the best loss again after new points with these keys. `before` and `after`: the number of points
 * without and with the new points.
 */
export function isBestLossDue(keys: Iterable<string>, before: number, after: number): boolean {
  const losses = [...keys].filter(key => lossKeys.some(each => each === key));
  // Evaluations are rare, so each of them can change the best loss immediately.
  if (losses.some(key => key !== trainingKey)) return true;
  const stage = (count: number): number => Math.floor(Math.log(count + 1) / Math.log(growth));
  return losses.length > 0 && stage(after) > stage(before);
}

/** Returns the key of the loss that ranks a job; null if the job reports no loss. */
export const bestLossKey = (measured: readonly string[]): string | null =>
  lossKeys.find(key => measured.includes(key)) ?? null;

/**
 * Returns the lowest loss in the curves of a job's attempts; null if they have no value. For an evaluation loss, this is
 * the lowest value. For the training loss, it is the lowest mean over a tenth of an attempt's values.
 */
export function bestLoss(key: string, curves: readonly (readonly Bucket[])[]): number | null {
  const lowestOf = key === trainingKey ? lowestMean : lowestValue;
  const lowest = Math.min(...curves.map(lowestOf));
  return Number.isFinite(lowest) ? lowest : null;
}

const lowestValue = (buckets: readonly Bucket[]): number =>
  buckets.reduce((lowest, { count, min }) => (count === 0 ? lowest : Math.min(lowest, min)), Infinity);

/** Moves a window over the curve, and returns its lowest mean. The window has at least a tenth of the curve's values. */
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
