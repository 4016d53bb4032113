import type { CallFailure, Client } from '../../../../protocol/client.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { metricsApi } from '../../../../protocol/metrics-api.ts';
import type { Axis, Curves, AxisRange } from './lines.ts';

/** Per answer, because it is requested repeatedly while the job runs. */
const maxDots = 20_000;
const minPoints = 100;
/** Enough to show where each attempt lies. */
const coarse = 50;

/** One point per pixel shows all that is visible. With many curves there are fewer, so that the answer stays small. */
export function pointsFor(widthPx: number, curves: number): number {
  const wanted = Math.ceil(Math.max(1, widthPx) / 200) * 200;
  const maxPerCurve = Math.max(minPoints, Math.floor(maxDots / Math.max(1, curves)));
  return Math.min(wanted, maxPerCurve, 5_000);
}

type Query = Readonly<Record<string, string>>;

/**
 * Returns the queries for one range of the axis. Times are relative to each attempt, wherever it lies on the axis.
 * @internal
 */
export function queriesFor(axis: Axis, [from, to]: AxisRange, { attempts }: Curves): readonly Query[] {
  if (axis === 'step') return [{ from_step: String(Math.floor(from)), to_step: String(Math.ceil(to)) }];
  return attempts
    .filter(({ offset_ms: offset }) => offset <= to)
    .map(({ attempt, offset_ms: offset }) => ({
      attempt: String(attempt),
      from_ms: String(Math.max(0, Math.floor(from - offset))),
      to_ms: String(Math.ceil(to - offset)),
    }));
}

interface Wish {
  readonly axis: Axis;
  readonly zoom: AxisRange | null;
  readonly points: number;
}

export interface Seen {
  /** The whole curves; coarse while a part is zoomed. */
  readonly whole: Curves;
  /** The visible part. */
  readonly shown: Curves;
}

type Result =
  | { readonly ok: true; readonly value: Seen }
  | { readonly ok: false; readonly failure: CallFailure };

export async function readCurves(
  client: Client,
  id: JobId,
  { axis, zoom, points }: Wish,
  signal: AbortSignal,
): Promise<Result> {
  const read = (query: Query, count: number) =>
    client.call(metricsApi.read, { params: { id }, query: { ...query, points: count }, signal });
  const whole = await read({}, zoom === null ? points : coarse);
  if (!whole.ok) return whole;
  if (zoom === null) return { ok: true, value: { whole: whole.value, shown: whole.value } };
  const parts = await Promise.all(queriesFor(axis, zoom, whole.value).map(query => read(query, points)));
  const attempts: Curves['attempts'] = [];
  for (const part of parts) {
    if (!part.ok) return part;
    attempts.push(...part.value.attempts);
  }
  // Attempts outside the range keep their position in the list, and therefore their colour.
  const shown = whole.value.attempts.map(
    each => attempts.find(({ attempt }) => attempt === each.attempt) ?? { ...each, series: [] },
  );
  return { ok: true, value: { whole: whole.value, shown: { ...whole.value, attempts: shown } } };
}
