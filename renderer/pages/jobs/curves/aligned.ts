import type { Dot, Line } from './lines.ts';

interface Column {
  /** The drawn values. */
  readonly value: readonly Cell[];
  /** The values before smoothing; null without smoothing. */
  readonly raw: readonly Cell[] | null;
  /** The range of the points that each mean covers; null when every point stands for itself. */
  readonly low: readonly Cell[] | null;
  readonly high: readonly Cell[] | null;
}

export interface AlignedLines {
  /** Ascending and unique. */
  readonly xs: readonly number[];
  /** In the order of the lines, each as long as `xs`. */
  readonly columns: readonly Column[];
  /** Number of means of 0 or less, which a logarithmic axis cannot show. */
  readonly leftOut: number;
}

export interface Shaping {
  readonly smoothing: number;
  readonly isLog: boolean;
}

/** Aligns lines with different points on one axis. */
export function align(lines: readonly Line[], { smoothing, isLog }: Shaping): AlignedLines {
  const xs = [...new Set(lines.flatMap(({ dots }) => dots.map(({ x }) => x)))].toSorted((a, b) => a - b);
  const placeOf = new Map(xs.map((x, place) => [x, place]));
  const spread = (dots: readonly Dot[], values: readonly (number | null)[]): readonly Cell[] => {
    const cells: Cell[] = Array.from({ length: xs.length }, () => undefined);
    dots.forEach(({ x }, at) => {
      cells[placeOf.get(x) ?? -1] = values[at];
    });
    return cells;
  };
  let leftOut = 0;
  const columns = lines.map(({ dots }): Column => {
    const fits = (value: number | null): value is number => value !== null && (!isLog || value > 0);
    const raw = dots.map(({ mean }) => (fits(mean) ? mean : null));
    for (const { mean, count } of dots) if (mean !== null && !fits(mean)) leftOut += count;
    const isThinned = dots.some(({ count }) => count > 1);
    const edge = (side: 'min' | 'max') =>
      dots.map((dot, at) => {
        const value = dot[side];
        return raw[at] === null ? null : fits(value) ? value : (raw[at] ?? null);
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

/** Returns the dot nearest to `x` that is no gap; null when `x` is beyond the ends of the line by more than `slack`. */
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

/** Above this, a curve would hardly move. */
export const maxSmoothing = 0.99;

/**
 * Exponential moving average. `weight`, from 0 to `maxSmoothing`, is the weight of earlier values. It corrects the bias towards 0 at the
 * start (as for Adam's moments: Kingma and Ba 2015, section 3). Gaps stay gaps, and values before a gap count after it.
 * @internal
 */
export function smooth(values: readonly (number | null)[], weight: number): readonly (number | null)[] {
  const share = Math.min(maxSmoothing, Math.max(0, weight));
  if (share === 0) return values;
  let mean = 0;
  let counted = 0;
  return values.map(value => {
    if (value === null) return null;
    mean = share * mean + (1 - share) * value;
    counted += 1;
    return mean / (1 - share ** counted);
  });
}
/** A value; null at a gap of the curve; undefined where the curve has no point but continues. */
type Cell = number | null | undefined;
