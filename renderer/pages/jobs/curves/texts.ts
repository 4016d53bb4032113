import { perLanguage } from '../../../i18n/formats.ts';
import type { Translator } from '../../../i18n/index.ts';
import { duration, figure } from '../figures.ts';
import type { ChartPlan } from './keys.ts';
import type { Axis, Dot, Line } from './lines.ts';

interface Summary {
  /** The newest value of the last line that has values. */
  readonly latest: { readonly value: number; readonly dot: Dot };
  readonly min: number;
  readonly max: number;
}

/** Summarizes all shown lines; null when they contain no value. */
export function summarize(lines: readonly Line[]): Summary | null {
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

/** Returns the last reported value of a line with its dot; null if the line has no values. */
export function latestOf(dots: readonly Dot[]): Summary['latest'] | null {
  const dot = dots.findLast(({ last }) => last !== null);
  return dot === undefined || dot.last === null ? null : { value: dot.last, dot };
}

export interface Row {
  readonly id: string;
  readonly line: Line;
  readonly dot: Dot;
}

interface Rows {
  readonly rows: readonly Row[];
  /** Number of points, including those that are not listed. */
  readonly total: number;
}

/**
 * Returns the rows of a table with at most `maxRows` rows. Each line contributes its first and last point and evenly
 * spaced points between them.
 */
export function rowsOf(lines: readonly Line[], maxRows: number): Rows {
  const total = lines.reduce((sum, { dots }) => sum + dots.length, 0);
  const share = total <= maxRows ? 1 : maxRows / total;
  const rows = lines.flatMap(line =>
    evenly(line.dots, Math.max(1, Math.floor(line.dots.length * share))).map(dot => ({
      id: `${line.id}@${dot.x}`,
      line,
      dot,
    })),
  );
  return { rows, total };
}

function evenly<T>(items: readonly T[], count: number): readonly T[] {
  if (count >= items.length) return items;
  if (count === 1) return items.slice(-1);
  return Array.from({ length: count }, (_, at) =>
    Math.round((at * (items.length - 1)) / (count - 1)),
  ).flatMap(index => items[index] ?? []);
}

const wholeFormat = perLanguage(language => new Intl.NumberFormat(language, { maximumFractionDigits: 0 }));
const shortFormat = perLanguage(
  language => new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }),
);

export const whole = (value: number, t: Translator): string => wholeFormat(t.language).format(value);

/** Formats a value. Values of GPU charts have no decimals. */
export const valueText = (value: number, chart: ChartPlan, t: Translator): string =>
  chart.kind === 'gpu' ? whole(value, t) : figure(value, t.language);

/** Formats a position for an axis label. */
export const tickText = (x: number, axis: Axis, t: Translator): string =>
  axis === 'time' ? duration(x / 1_000, t.language) : shortFormat(t.language).format(x);

/** Formats a position for use within a sentence. */
export const placeText = (x: number, axis: Axis, t: Translator): string =>
  axis === 'time' ? duration(x / 1_000, t.language) : t('curves.step', { step: whole(x, t) });

/** Formats the position of a point for use within a sentence. @internal */
export const dotText = ({ step, ms }: Dot, axis: Axis, t: Translator): string =>
  step === null ? placeText(ms, 'time', t) : placeText(axis === 'time' ? ms : step, axis, t);

export interface Names {
  /** Returns the name of the worker that ran the attempt. */
  readonly workerOf: (attempt: number) => string;
  /** Number of attempts in the chart. */
  readonly attempts: number;
}

/** Returns a name for a line that differs from the names of all other lines in its chart. */
export function lineName({ attempt, gpu, job }: Line, { workerOf, attempts }: Names, t: Translator): string {
  if (job !== null) return t('curves.ofJob', { job, attempt });
  const worker = workerOf(attempt);
  if (gpu === null) return t('curves.attempt', { attempt, worker });
  return attempts > 1 ? t('curves.gpuOf', { gpu, attempt, worker }) : t('curves.gpu', { gpu });
}

/**
 * Summarizes a chart in a sentence, which screen readers also use. With several GPUs, the sentence contains only the
 * range, without a latest value.
 */
export function summaryText(summary: Summary, chart: ChartPlan, axis: Axis, t: Translator): string {
  const text = (value: number): string => valueText(value, chart, t);
  const bounds = { min: text(summary.min), max: text(summary.max) };
  if (chart.keys.length > 1) return t('curves.bounds', bounds);
  return t('curves.summary', {
    ...bounds,
    latest: text(summary.latest.value),
    at: dotText(summary.latest.dot, axis, t),
  });
}
