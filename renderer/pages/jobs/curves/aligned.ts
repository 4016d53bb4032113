import type { Dot, Line } from './lines.ts';

/** A value; null at a gap in the curve; undefined at positions where only other curves have points. */
type Cell = number | null | undefined;

interface Column {
  /** The values to draw. They are smoothed if smoothing is on. */
  readonly value: readonly Cell[];
  /** The values before smoothing; null when smoothing is off. */
  readonly raw: readonly Cell[] | null;
  /** Lowest and highest reported value behind each mean; null when every mean comes from a single value. */
  readonly low: readonly Cell[] | null;
  readonly high: readonly Cell[] | null;
}

export interface AlignedLines {
  /** Positions on the axis, ascending and unique. */
  readonly xs: readonly number[];
  /** One column per line, each as long as `xs`. */
  readonly columns: readonly Column[];
  /** Number of omitted values: a logarithmic axis cannot show 0 or less. */
  readonly leftOut: number;
}

export interface Shaping {
  /** From 0 (off) to `maxSmoothing`. */
  readonly smoothing: number;
  readonly isLog: boolean;
}

/** Aligns lines with points at different positions on one common axis. */
export function align(lines: readonly Line[], { smoothing, isLog }: Shaping): AlignedLines {
  const xs = [...new Set(lines.flatMap(({ dots }) => dots.map(({ x }) => x)))].toSorted((a, b) => a - b);
  /** Returns one cell for each position of the axis. `values` are parallel to `dots`. */
  const spread = (dots: readonly Dot[], values: readonly (number | null)[]): readonly Cell[] => {
    const valueAt = new Map(dots.map(({ x }, index) => [x, values[index]]));
    return xs.map(x => valueAt.get(x));
  };
  const isDrawable = (value: number | null): value is number => value !== null && (!isLog || value > 0);
  let leftOut = 0;
  const columns = lines.map(({ dots }): Column => {
    const raw = dots.map(({ mean }) => (isDrawable(mean) ? mean : null));
    for (const { mean, count } of dots) if (mean !== null && !isDrawable(mean)) leftOut += count;
    const isThinned = dots.some(({ count }) => count > 1);
    /** Returns the lowest or highest values behind the means. Uses the mean where that value cannot be drawn. */
    const edge = (side: 'min' | 'max') =>
      dots.map((dot, index) => {
        const mean = raw[index] ?? null;
        const value = dot[side];
        return mean !== null && isDrawable(value) ? value : mean;
      });
    return {
      value: spread(dots, smooth(raw, smoothing)),
      raw: smoothing > 0 ? spread(dots, raw) : null,
      low: isThinned ? spread(dots, edge('min')) : null,
      high: isThinned ? spread(dots, edge('max')) : null,
    };
  });
  return { xs, columns, leftOut };
}

/**
 * Returns the dot nearest to `x`, but skips gaps. Returns null if `x` is outside the line by more than `slack`, or if the
 * line has only gaps.
 */
export function nearest(dots: readonly Dot[], x: number, slack: number): Dot | null {
  const [first, last] = [dots[0], dots.at(-1)];
  if (first === undefined || last === undefined || x < first.x - slack || x > last.x + slack) return null;
  let best: Dot | null = null;
  for (const dot of dots) {
    if (dot.mean === null) continue;
    if (best === null || Math.abs(dot.x - x) < Math.abs(best.x - x)) best = dot;
    else if (dot.x > x) break;
  }
  return best;
}

/** With more smoothing, a curve would be almost flat. */
export const maxSmoothing = 0.99;

/**
 * Smooths by an exponential moving average. `weight`, from 0 to `maxSmoothing`, is the weight of earlier values.
 * Removes the bias towards 0 at the start, as in Adam (Kingma and Ba 2015, section 3). Gaps stay gaps, and values
 * before a gap still count after it.
 * @internal
 */
export function smooth(values: readonly (number | null)[], weight: number): readonly (number | null)[] {
  const decay = Math.min(maxSmoothing, Math.max(0, weight));
  if (decay === 0) return values;
  let mean = 0;
  let counted = 0;
  return values.map(value => {
    if (value === null) return null;
    mean = decay * mean + (1 - decay) * value;
    counted += 1;
    return mean / (1 - decay ** counted);
  });
}
