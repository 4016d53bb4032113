import type { Dot, Line } from './lines.ts';

export interface Summary {
  /** The newest number, from the last attempt that has one. */
  readonly latest: { readonly value: number; readonly dot: Dot };
  readonly min: number;
  readonly max: number;
}

/** Summarizes all shown lines; null when they contain no number. */
export function summaryOf(lines: readonly Line[]): Summary | null {
  const latest = lines
    .toReversed()
    .map(({ dots }) => latestOf(dots))
    .find(found => found !== null);
  if (latest === undefined) return null;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const { dots } of lines)
    for (const dot of dots) {
      min = Math.min(min, dot.min ?? min);
      max = Math.max(max, dot.max ?? max);
    }
  return { latest, min, max };
}

export function latestOf(dots: readonly Dot[]): Summary['latest'] | null {
  const dot = dots.findLast(({ last }) => last !== null);
  return dot === undefined || dot.last === null ? null : { value: dot.last, dot };
}

export interface Row {
  readonly id: string;
  readonly line: Line;
  readonly dot: Dot;
}

export interface Rows {
  readonly rows: readonly Row[];
  /** Total number of points, including those without a row. */
  readonly of: number;
}

/** Returns at most `most` rows, line by line. Each line's rows are evenly spread and include its first and last point. */
export function rowsOf(lines: readonly Line[], most: number): Rows {
  const of = lines.reduce((sum, { dots }) => sum + dots.length, 0);
  const share = of <= most ? 1 : most / of;
  const rows = lines.flatMap(line =>
    evenly(line.dots, Math.max(1, Math.floor(line.dots.length * share))).map(dot => ({
      id: `${line.id}@${dot.x}`,
      line,
      dot,
    })),
  );
  return { rows, of };
}

function evenly<T>(items: readonly T[], count: number): readonly T[] {
  if (count >= items.length) return items;
  if (count === 1) return items.slice(-1);
  return Array.from({ length: count }, (_, at) =>
    Math.round((at * (items.length - 1)) / (count - 1)),
  ).flatMap(place => items[place] ?? []);
}
