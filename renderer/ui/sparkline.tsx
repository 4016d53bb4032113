interface SparklineProps {
  /** Sorted by time; `at` in milliseconds since 1970, `value` from 0 to 100. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
  /** A description in words. */
  readonly label: string;
  /** Maximum time that the full width covers; less if there is less data. */
  readonly spanMs: number;
  /** Minimum time that the full width covers; a shorter curve is drawn at the right. */
  readonly minMs?: number;
}

const width = 48;
const height = 18;

/** The last point is at the right edge. Points older than the span are omitted. */
export function Sparkline({ points, label, spanMs, minMs = 60_000 }: SparklineProps) {
  const end = points.at(-1)?.at ?? 0;
  const span = Math.min(spanMs, Math.max(minMs, end - (points[0]?.at ?? end)));
  const line = points
    .filter(({ at }) => at >= end - span)
    .map(({ at, value }) => {
      const x = width - 1 - ((end - at) / span) * (width - 2);
      const y = height - 1 - (value / 100) * (height - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
  // A polyline needs two points.
  const shape = line.length === 1 ? `0,${line[0]?.split(',')[1]} ${line[0]}` : line.join(' ');
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <polyline points={shape} />
    </svg>
  );
}
