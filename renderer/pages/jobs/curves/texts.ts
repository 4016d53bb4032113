import { perLanguage } from '../../../i18n/formats.ts';
import type { Translator } from '../../../i18n/index.ts';
import { duration, figure } from '../figures.ts';
import type { ChartPlan } from './keys.ts';
import type { Axis, Dot, Line } from './lines.ts';

interface Summary {
  /** The newest number, from the last attempt that has one. */
  readonly latest: { readonly value: number; readonly dot: Dot };
  readonly min: number;
  readonly max: number;
}

/** Summarizes all shown lines; null when they contain no number. */
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
const wholeFormat = perLanguage(language => new Intl.NumberFormat(language, { maximumFractionDigits: 0 }));
const shortFormat = perLanguage(
  language => new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }),
);

export const whole = (value: number, t: Translator): string => wholeFormat(t.language).format(value);

/** Temperatures and megabytes need no decimals. */
export const valueText = (value: number, chart: ChartPlan, t: Translator): string =>
  chart.kind === 'gpu' ? whole(value, t) : figure(value, t.language);

/** A position as an axis label. */
export const tickText = (x: number, axis: Axis, t: Translator): string =>
  axis === 'time' ? duration(x / 1_000, t.language) : shortFormat(t.language).format(x);

/** A position within a sentence. */
export const placeText = (x: number, axis: Axis, t: Translator): string =>
  axis === 'time' ? duration(x / 1_000, t.language) : t('curves.step', { step: whole(x, t) });

/** The position of a point within a sentence. @internal */
export const dotText = ({ step, ms }: Dot, axis: Axis, t: Translator): string =>
  step === null ? placeText(ms, 'time', t) : placeText(axis === 'time' ? ms : step, axis, t);

export interface Names {
  /** Name of the attempt's worker. */
  readonly workerOf: (attempt: number) => string;
  /** Number of attempts in the chart. */
  readonly attempts: number;
}

/** Names a line so that it differs from the others in its chart. */
export function lineName({ attempt, gpu, job }: Line, { workerOf, attempts }: Names, t: Translator): string {
  if (job !== null) return t('curves.ofJob', { job, attempt });
  const worker = workerOf(attempt);
  if (gpu === null) return t('curves.attempt', { attempt, worker });
  return attempts > 1 ? t('curves.gpuOf', { gpu, attempt, worker }) : t('curves.gpu', { gpu });
}

/** Summarizes a chart in a sentence, also for screen readers. With several GPUs there is no single latest value. */
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
