interface SparklineProps {
  /** In the order of time; `at` in milliseconds since 1970, `value` from 0 to 100. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
  /** The same in words. */
  readonly label: string;
  /** The most time that the whole width is: less, as long as there is less. */
  readonly spanMs: number;
  /** The least: what is younger is drawn on the right alone. */
  readonly leastMs?: number;
}

const width = 48;
const height = 18;

/** The last point is at the right end; what is older than the span is left out. */
export function Sparkline({ points, label, spanMs, leastMs = 60_000 }: SparklineProps) {
  const end = points.at(-1)?.at ?? 0;
  const span = Math.min(spanMs, Math.max(leastMs, end - (points[0]?.at ?? end)));
  const line = points
    .filter(({ at }) => at >= end - span)
    .map(({ at, value }) => {
      const x = width - 1 - ((end - at) / span) * (width - 2);
      const y = height - 1 - (value / 100) * (height - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
  // One alone would be no line.
  const shape = line.length === 1 ? `0,${line[0]?.split(',')[1]} ${line[0]}` : line.join(' ');
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <polyline points={shape} />
    </svg>
  );
}
