import type { CallFailure, Client } from '../../../../protocol/client.ts';
import { JobId } from '../../../../protocol/ids.ts';
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

/** Per answer, because it is requested repeatedly while the job runs. */
const maxDots = 20_000;
const minPoints = 100;
/** Enough to show where each attempt lies. */
const overviewPoints = 50;

/** One point per pixel shows all that is visible. With many curves there are fewer, so that the answer stays small. @internal */
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

interface CurveRequest {
  readonly axis: Axis;
  readonly zoom: AxisRange | null;
  readonly points: number;
}

export interface VisibleCurves {
  /** The whole curves; overviewPoints while a part is zoomed. */
  readonly whole: Curves;
  /** The visible part. */
  readonly shown: Curves;
}

type Result =
  | { readonly ok: true; readonly value: VisibleCurves }
  | { readonly ok: false; readonly failure: CallFailure };

/** @internal */
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
  // Attempts outside the range keep their position in the list, and therefore their colour.
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

/** Reloads after events of the job, but at a limited rate and only while the page is visible. */
export function useCurves(job: JobDetail, { axis, zoom }: View, widthPx: number): CurvesRead {
  const { client } = usePanel();
  const [seen, setSeen] = useState<VisibleCurves | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const { reads, reload } = useReads(job);
  const { id } = job;
  const count = seen?.whole.attempts.reduce((sum, { series }) => sum + series.length, 0) ?? 20;
  const points = pointsFor(widthPx, count);
  const [from, to] = zoom ?? [];
  const isPlaced = widthPx > 0;
  useEffect(() => {
    if (!isPlaced) return undefined;
    const controller = new AbortController();
    const range = from === undefined || to === undefined ? null : ([from, to] as const);
    void readCurves(client, id, { axis, zoom: range, points }, controller.signal).then(result => {
      if (controller.signal.aborted) return;
      if (result.ok) setSeen(result.value);
      setFailure(result.ok ? null : result.failure);
    });
    return () => controller.abort();
  }, [client, id, axis, from, to, points, isPlaced, reads]);
  return { seen, failure, reload };
}

/** Assumed number of curves per compared job. It makes their curves coarser than the job's own. */
const curvesOfEach = 20;

/** Loads the curves of the other jobs, and reloads them whenever those of this job (`shown`) reload. */
export function useCompared(
  { others, axis, zoom }: View,
  shown: Curves,
  widthPx: number,
): readonly Compared[] {
  const t = useT();
  const { client } = usePanel();
  const [read, setRead] = useState<ReadonlyMap<JobId, Compared>>(new Map());
  const wanted = others.join();
  // Keep the same array while the URL stays the same.
  const ids = useMemo(() => wanted.split(',').flatMap(word => JobId.safeParse(word).data ?? []), [wanted]);
  /** Jobs that could not be loaded; each is reported once. */
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
  const name = `${job.value.config_name} (${id})`;
  return { ok: true, value: { id, name, curves: curves.value.shown } } as const;
}
