import type { ReplyOf } from '../../../../protocol/call.ts';
import type { MetricBucket, metricsApi } from '../../../../protocol/metrics-api.ts';
import type { ChartPlan } from './keys.ts';

export type Curves = ReplyOf<typeof metricsApi.read>;
export type Axis = 'step' | 'time';

/** One point of a line on the axis. It summarizes one or more reported values. */
export interface Dot {
  /** A step, or milliseconds since the start of the job's first attempt. */
  readonly x: number;
  readonly step: number | null;
  readonly ms: number;
  /** Mean of the reported values; null for a gap. */
  readonly mean: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly last: number | null;
  readonly count: number;
}

/** The curve of one metric in one attempt. */
export interface Line {
  readonly id: string;
  readonly attempt: number;
  /** Name of the job if it is a compared job; null for the main job. */
  readonly job: string | null;
  readonly gpu: number | null;
  /** Index of the colour and the dash pattern, unique within a chart. It stays the same when other curves are hidden. */
  readonly style: number;
  readonly dots: readonly Dot[];
  /** Number of points without a step, which have no position on the step axis. */
  readonly withoutStep: number;
}

/** Returns the lines of the attempts in `shown`, or of all attempts if `shown` is null. */
export function toLines(
  curves: Curves,
  chart: ChartPlan,
  axis: Axis,
  shown: ReadonlySet<number> | null,
): readonly Line[] {
  return curves.attempts.flatMap((attempt, order) =>
    chart.keys.flatMap(({ key, gpu }, keyIndex) => {
      const points = attempt.series.find(each => each.key === key)?.points ?? [];
      if (points.length === 0 || shown?.has(attempt.attempt) === false) return [];
      const dots = points.flatMap(point => dotOf(point, axis, attempt.offset_ms) ?? []);
      return {
        id: `${attempt.attempt}/${key}`,
        attempt: attempt.attempt,
        job: null,
        gpu,
        style: order * chart.keys.length + keyIndex,
        dots: sortDots(dots),
        withoutStep: points.length - dots.length,
      };
    }),
  );
}

/** A job whose curves are drawn in the charts of the main job. */
export interface Compared {
  readonly id: string;
  readonly name: string;
  readonly curves: Curves;
}

/**
 * Returns the lines of all attempts of the compared jobs, in styles that the main job does not use. GPU charts show only
 * the main job.
 */
export function toComparedLines(
  curvesOfJob: Curves,
  compared: readonly Compared[],
  chart: ChartPlan,
  axis: Axis,
): readonly Line[] {
  if (chart.kind === 'gpu') return [];
  let style = curvesOfJob.attempts.length * chart.keys.length;
  return compared.flatMap(({ id, name, curves }) => {
    const first = style;
    style += curves.attempts.length * chart.keys.length;
    return toLines(curves, chart, axis, null).map(line => ({
      ...line,
      id: `${id}/${line.id}`,
      job: name,
      style: first + line.style,
    }));
  });
}

/** Returns the smallest range that covers all given ranges; null when there is none. */
export function coveringRange(ranges: readonly (AxisRange | null)[]): AxisRange | null {
  const nonEmpty = ranges.filter(range => range !== null);
  if (nonEmpty.length === 0) return null;
  return [Math.min(...nonEmpty.map(([from]) => from)), Math.max(...nonEmpty.map(([, to]) => to))];
}

function dotOf(point: MetricBucket, axis: Axis, offsetMs: number): Dot | null {
  const { step, mean, min, max, last, count } = point;
  const ms = offsetMs + point.elapsed_ms;
  const x = axis === 'time' ? ms : step;
  return x === null ? null : { x, step, ms, mean, min, max, last, count };
}

/** Sorts dots by position and merges dots at the same position. */
function sortDots(dots: readonly Dot[]): readonly Dot[] {
  const result: Dot[] = [];
  for (const dot of dots.toSorted((a, b) => a.x - b.x)) {
    const before = result.at(-1);
    if (before?.x === dot.x) result[result.length - 1] = mergeDots(before, dot);
    else result.push(dot);
  }
  return result;
}

function mergeDots(a: Dot, b: Dot): Dot {
  if (a.mean === null || a.min === null || a.max === null) return b;
  if (b.mean === null || b.min === null || b.max === null) return a;
  const count = a.count + b.count;
  const mean = (a.mean * a.count + b.mean * b.count) / count;
  return { ...b, mean, min: Math.min(a.min, b.min), max: Math.max(a.max, b.max), count };
}

/** The position at which a later attempt starts. */
export interface Break {
  readonly attempt: number;
  readonly x: number;
}

/**
 * Returns the starts of all shown attempts except the first. On the step axis, an attempt without step numbers has no
 * start.
 */
export function breaksOf(curves: Curves, axis: Axis, shown: ReadonlySet<number> | null): readonly Break[] {
  return curves.attempts
    .filter(({ attempt }) => shown?.has(attempt) !== false)
    .slice(1)
    .flatMap(({ attempt, offset_ms: offset, series }) => {
      if (axis === 'time') return { attempt, x: offset };
      const steps = series.flatMap(({ points }) => points.flatMap(({ step }) => step ?? []));
      return steps.length === 0 ? [] : { attempt, x: Math.min(...steps) };
    });
}

/** A range of the axis. */
export type AxisRange = readonly [from: number, to: number];

/** Expands a selected range to whole steps or milliseconds. The result ends at 1 or later. */
export const wholeRange = ([from, to]: AxisRange): AxisRange => [
  Math.max(0, Math.floor(from)),
  Math.max(1, Math.ceil(to)),
];

/** Widens a range that contains only one position, so that its axis has different ticks. */
export function widened([from, to]: AxisRange): AxisRange {
  if (from < to) return [from, to];
  const margin = Math.max(1, Math.round(from / 10));
  return [Math.max(0, from - margin), to + margin];
}

/** Returns the range that the curves of these attempts cover; null without points. */
export function spanOf(curves: Curves, axis: Axis, shown: ReadonlySet<number> | null): AxisRange | null {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const { attempt, offset_ms: offset, series } of curves.attempts) {
    if (shown?.has(attempt) === false) continue;
    for (const { points } of series)
      for (const point of points) {
        const x = axis === 'time' ? offset + point.elapsed_ms : point.step;
        if (x === null) continue;
        from = Math.min(from, x);
        to = Math.max(to, x);
      }
  }
  return from > to ? null : [from, to];
}
