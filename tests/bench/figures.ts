/** One line of the table of results. */
export interface Line {
  readonly what: string;
  readonly figure: number;
  /** `x`: a ratio to another figure. */
  readonly unit: 'ms' | 'us' | 's' | 'rows' | 'KB' | 'MiB' | '/s' | '%' | 'x' | '';
  readonly atMost?: number;
  readonly atLeast?: number;
  /**
   * Histogram of the single values. Each count covers the values up to `upTo` and above the previous bound. Only the JSON file
   * contains the histogram, not the table.
   */
  readonly histogram?: Histogram;
}

type Histogram = readonly { readonly upTo: number; readonly count: number }[];

/** Builds a histogram in which each bound is a quarter larger than the bound before. */
export function histogramOf(values: readonly number[]): Histogram {
  const counts = new Map<number, number>();
  const boundOf = (value: number): number => 1.25 ** Math.ceil(Math.log(value) / Math.log(1.25));
  for (const value of values) counts.set(boundOf(value), (counts.get(boundOf(value)) ?? 0) + 1);
  return [...counts].toSorted(([a], [b]) => a - b).map(([upTo, count]) => ({ upTo, count }));
}

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
};

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Measures two programs in alternate rounds, after one warm-up round each. Returns the two medians. */
export async function alternate(
  rounds: number,
  measureFirst: () => Promise<number>,
  measureSecond: () => Promise<number>,
): Promise<readonly [number, number]> {
  await measureFirst();
  await measureSecond();
  const first: number[] = [];
  const second: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    first.push(await measureFirst());
    second.push(await measureSecond());
  }
  return [median(first), median(second)];
}

/** Returns lines for the median, the 95th and the 99th percentile of the values. */
export const percentileLines = (
  what: string,
  values: readonly number[],
  p95AtMost?: number,
): readonly Line[] => [
  { what: `${what}: p50`, figure: percentile(values, 0.5), unit: 'ms' },
  {
    what: `${what}: p95`,
    figure: percentile(values, 0.95),
    unit: 'ms',
    ...(p95AtMost === undefined ? {} : { atMost: p95AtMost }),
  },
  { what: `${what}: p99`, figure: percentile(values, 0.99), unit: 'ms' },
];

export function tableOf(lines: readonly Line[]): string {
  const width = Math.max(...lines.map(({ what }) => what.length));
  return lines
    .map(line => {
      const { what, figure, unit } = line;
      const value = `${formatFigure(figure)} ${unit}`.trim();
      return `${what.padEnd(width)}  ${value.padStart(12)}${describeTarget(line)}\n`;
    })
    .join('');
}

function formatFigure(figure: number): string {
  if (Number.isInteger(figure)) return String(figure);
  return figure.toFixed(Math.abs(figure) < 10 ? 2 : 1);
}

/** Returns the target of a figure, with MISSED if the figure misses it; an empty string without a target. */
function describeTarget({ figure, atMost, atLeast }: Line): string {
  if (atMost === undefined && atLeast === undefined) return '';
  const isReached =
    figure <= (atMost ?? Number.POSITIVE_INFINITY) && figure >= (atLeast ?? Number.NEGATIVE_INFINITY);
  const target = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
  return `   ${target}${isReached ? '' : '   MISSED'}`;
}
