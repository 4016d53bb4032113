import type { MetricBucket } from '../../../protocol/metrics-api.ts';

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/** Drawn between two attempts. */
const breakMark = '┊';
/** Drawn for a column without a number. */
const gapMark = '×';

/**
 * Draws curves one after another, with a break between them, in at most `width` characters. Returns an empty text without points.
 */
export function sparkline(curves: readonly (readonly MetricBucket[])[], width: number): string {
  const shown = curves.filter(points => points.length > 0);
  const points = shown.flat();
  const means = points.flatMap(({ mean }) => mean ?? []);
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const availableWidth = Math.max(shown.length, width - (shown.length - 1));
  const parts = shown.map(curve => {
    const share = Math.max(1, Math.floor((availableWidth * curve.length) / points.length));
    return reducePoints(curve, share)
      .map(mean => (mean === null ? gapMark : markOf(mean, low, high)))
      .join('');
  });
  return parts.join(breakMark);
}

function markOf(mean: number, low: number, high: number): string {
  // Halve the values, because the difference of two numbers may overflow.
  const share = high > low ? (mean / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
  return heights[Math.min(heights.length - 1, Math.floor(share * heights.length))] ?? '';
}

/** Reduces the points to at most `columns` values, each the mean of its points; null for a column without numbers. */
function reducePoints(points: readonly MetricBucket[], columns: number): readonly (number | null)[] {
  const count = Math.min(columns, points.length);
  return Array.from({ length: count }, (_, at) => {
    const slice = points.slice(
      Math.floor((at * points.length) / count),
      Math.floor(((at + 1) * points.length) / count),
    );
    const means = slice.flatMap(({ mean }) => mean ?? []);
    return means.length === 0 ? null : means.reduce((sum, mean) => sum + mean / means.length, 0);
  });
}
