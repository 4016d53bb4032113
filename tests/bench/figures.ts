/** One line of the table: what was measured, the figure and its target. */
export interface Line {
  readonly what: string;
  readonly figure: number;
  /** `x`: a ratio to the program that ran alternately. */
  readonly unit: 'ms' | 'us' | 's' | 'rows' | 'KB' | 'MiB' | '/s' | '%' | 'x' | '';
  readonly atMost?: number;
  readonly atLeast?: number;
  /**
   * The histogram of all single values: each count covers values up to `upTo` and above the previous bound. Not in the
   * table.
   */
  readonly histogram?: Histogram;
}

type Histogram = readonly { readonly upTo: number; readonly count: number }[];

/** Each bound is a quarter larger than the previous one. */
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

/** The medians of two figures that are measured alternately, after one uncounted round of each. */
export async function inTurns(
  rounds: number,
  one: () => Promise<number>,
  other: () => Promise<number>,
): Promise<readonly [number, number]> {
  await one();
  await other();
  const ones: number[] = [];
  const others: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ones.push(await one());
    others.push(await other());
  }
  return [median(ones), median(others)];
}

/** The median, the 95th and the 99th percentile of the times. */
export const spread = (what: string, values: readonly number[], p95AtMost?: number): readonly Line[] => [
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
      const shown = `${Number.isInteger(figure) ? figure : figure.toFixed(digitsOf(figure))} ${unit}`.trim();
      return `${what.padEnd(width)}  ${shown.padStart(12)}${reachOf(line)}\n`;
    })
    .join('');
}

/** The number of decimals that a figure is shown with. */
const digitsOf = (figure: number): number => (Math.abs(figure) < 10 ? 2 : 1);

function reachOf({ figure, atMost, atLeast }: Line): string {
  if (atMost === undefined && atLeast === undefined) return '';
  const isReached =
    figure <= (atMost ?? Number.POSITIVE_INFINITY) && figure >= (atLeast ?? Number.NEGATIVE_INFINITY);
  const wanted = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
  return `   ${wanted}${isReached ? '' : '   MISSED'}`;
}
