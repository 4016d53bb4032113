import type { CallFailure, Client } from '../../../../protocol/client.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { shownName } from '../../../../protocol/job-about.ts';
import { metricsApi } from '../../../../protocol/metrics-api.ts';
import type { Axis, AxisRange, Compared, Curves } from './lines.ts';
import { useEffect, useMemo, useRef, useState } from 'react';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { useT } from '../../../i18n/index.ts';
import { showFailure } from '../../../ui/toast.tsx';
import type { JobDetail } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { useReads } from '../details/job-reads.ts';
import type { View } from './view.ts';

/**
 * Maximum number of points per answer, because the panel requests the data repeatedly during a job. `minPoints` has
 * precedence.
 */
const maxDots = 20_000;
/** Minimum number of points per curve. */
const minPoints = 100;
/** Points per curve for the full range while a part is zoomed. They only show where each attempt is on the axis. */
const overviewPoints = 50;

/** Returns the number of points to request per curve: about one per pixel, or fewer if there are many curves. @internal */
export function pointsFor(widthPx: number, curves: number): number {
  const pointsForWidth = Math.ceil(Math.max(1, widthPx) / 200) * 200;
  const maxPerCurve = Math.max(minPoints, Math.floor(maxDots / Math.max(1, curves)));
  return Math.min(pointsForWidth, maxPerCurve, 5_000);
}

type Query = Readonly<Record<string, string>>;

/**
 * Returns the queries that read one range of the axis. The time axis needs one query per attempt, because the server
 * counts time from the start of each attempt.
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

interface CurveRequest {
  readonly axis: Axis;
  readonly zoom: AxisRange | null;
  readonly points: number;
}

export interface VisibleCurves {
  /** The curves over the full range. While a part is zoomed, each curve has only `overviewPoints` points. */
  readonly whole: Curves;
  /** The curves in the visible range. */
  readonly shown: Curves;
}

type Result =
  | { readonly ok: true; readonly value: VisibleCurves }
  | { readonly ok: false; readonly failure: CallFailure };

/** Reads the curves over the full range and in the visible range. @internal */
export async function readCurves(
  client: Client,
  id: JobId,
  { axis, zoom, points }: CurveRequest,
  signal: AbortSignal,
): Promise<Result> {
  const read = (query: Query, count: number) =>
    client.call(metricsApi.read, { params: { id }, query: { ...query, points: count }, signal });
  const whole = await read({}, zoom === null ? points : overviewPoints);
  if (!whole.ok) return whole;
  if (zoom === null) return { ok: true, value: { whole: whole.value, shown: whole.value } };
  const parts = await Promise.all(queriesFor(axis, zoom, whole.value).map(query => read(query, points)));
  const attempts: Curves['attempts'] = [];
  for (const part of parts) {
    if (!part.ok) return part;
    attempts.push(...part.value.attempts);
  }
  // Keep attempts outside the visible range in the list, so that every attempt keeps its colour.
  const shown = whole.value.attempts.map(
    each => attempts.find(({ attempt }) => attempt === each.attempt) ?? { ...each, series: [] },
  );
  return { ok: true, value: { whole: whole.value, shown: { ...whole.value, attempts: shown } } };
}

interface CurvesRead {
  /** Null before the first answer. */
  readonly seen: VisibleCurves | null;
  /** Failure of the last request; the previous data stays. */
  readonly failure: CallFailure | null;
  readonly reload: () => void;
}

/**
 * Reads the curves. Reads them again after events of the job, at a limited rate and only while the page is visible.
 */
export function useCurves(job: JobDetail, { axis, zoom }: View, widthPx: number): CurvesRead {
  const { client } = usePanel();
  const [seen, setSeen] = useState<VisibleCurves | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const { reads, reload } = useReads(job);
  const { id } = job;
  const count = seen?.whole.attempts.reduce((sum, { series }) => sum + series.length, 0) ?? 20;
  const points = pointsFor(widthPx, count);
  const [from, to] = zoom ?? [];
  const isMeasured = widthPx > 0;
  useEffect(() => {
    if (!isMeasured) return undefined;
    const controller = new AbortController();
    const range = from === undefined || to === undefined ? null : ([from, to] as const);
    void readCurves(client, id, { axis, zoom: range, points }, controller.signal).then(result => {
      if (controller.signal.aborted) return;
      if (result.ok) setSeen(result.value);
      setFailure(result.ok ? null : result.failure);
    });
    return () => controller.abort();
  }, [client, id, axis, from, to, points, isMeasured, reads]);
  return { seen, failure, reload };
}

/** Assumed number of curves of each compared job. It limits the points per curve, so these curves may be coarse. */
const curvesOfEach = 20;

/** Reads the curves of the compared jobs again whenever `shown`, the curves of the main job, changes. */
export function useCompared(
  { others, axis, zoom }: View,
  shown: Curves,
  widthPx: number,
): readonly Compared[] {
  const t = useT();
  const { client } = usePanel();
  const [read, setRead] = useState<ReadonlyMap<JobId, Compared>>(new Map());
  const idList = others.join();
  // Create a new array only when the URL changes, because it is a dependency of the effect.
  const ids = useMemo(() => idList.split(',').flatMap(word => JobId.safeParse(word).data ?? []), [idList]);
  /** Jobs that could not be loaded, so that each failure is shown only once. */
  const failed = useRef(new Set<JobId>());
  const [from, to] = zoom ?? [];
  useEffect(() => {
    const controller = new AbortController();
    const range = from === undefined || to === undefined ? null : ([from, to] as const);
    const request = { axis, zoom: range, points: pointsFor(widthPx, curvesOfEach) };
    for (const id of ids) {
      void readOne(client, id, request, controller.signal).then(result => {
        if (controller.signal.aborted) return;
        if (result.ok) setRead(was => new Map(was).set(id, result.value));
        else if (!failed.current.has(id)) showFailure(t, result.failure);
        if (result.ok) failed.current.delete(id);
        else failed.current.add(id);
      });
    }
    return () => controller.abort();
  }, [client, ids, axis, from, to, widthPx, shown, t]);
  return useMemo(() => ids.flatMap(id => read.get(id) ?? []), [ids, read]);
}

async function readOne(client: Client, id: JobId, request: CurveRequest, signal: AbortSignal) {
  const [job, curves] = await Promise.all([
    client.call(queueApi.get, { params: { id }, signal }),
    readCurves(client, id, request, signal),
  ]);
  if (!job.ok) return job;
  if (!curves.ok) return curves;
  const name = `${shownName(job.value)} (${id})`;
  return { ok: true, value: { id, name, curves: curves.value.shown } } as const;
}
