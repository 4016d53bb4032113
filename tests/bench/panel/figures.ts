/** One line of the table: what was measured, what it was, and what is wanted of it. */
export interface Line {
  readonly what: string;
  readonly figure: number;
  readonly unit: 'ms' | 'rows' | 'KB' | '/s' | '';
  readonly atMost?: number;
}

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
};

/** Half of the changes were shown within so long, 95 in 100, and 99. */
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
    .map(({ what, figure, unit, atMost }) => {
      const shown = `${Number.isInteger(figure) ? figure : figure.toFixed(1)} ${unit}`.trim();
      const wanted = atMost === undefined ? '' : `   at most ${atMost}${figure <= atMost ? '' : '   MISSED'}`;
      return `${what.padEnd(width)}  ${shown.padStart(12)}${wanted}\n`;
    })
    .join('');
}
