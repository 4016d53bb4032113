/** The data of the sparklines: losses of jobs and GPU loads of workers. */
import type { UiEvent } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { isFinal, type JobView } from '../../protocol/job.ts';
import type { WorkerView } from '../../protocol/worker.ts';

/** A loss and its time in milliseconds since 1970. */
export interface LossPoint {
  readonly at: number;
  readonly loss: number;
}

/** The losses of one attempt, sorted by time. */
interface LossSeries {
  readonly attempt: number;
  /** Losses read from the server. `points` contains the later ones, from the event stream. */
  readonly earlier: readonly LossPoint[];
  /** Minimum time between two stored points, in milliseconds. The newest point is always stored. */
  readonly gapMs: number;
  readonly points: readonly LossPoint[];
}

export type Losses = ReadonlyMap<JobId, LossSeries>;

/** Maximum number of points; a sparkline cannot show more. */
const maxPoints = 60;

/**
 * Adds the losses that these events report. Drops losses of earlier attempts, and of jobs that have ended or were
 * deleted.
 */
export function withEvents(
  losses: Losses,
  events: readonly UiEvent[],
  jobs: ReadonlyMap<JobId, JobView>,
): Losses {
  const next = new Map(losses);
  let hasChanged = false;
  for (const event of events) {
    if (event.kind !== 'job' || event.type !== 'job.progress') continue;
    const loss = event.job?.progress?.loss;
    if (loss === undefined) continue;
    next.set(
      event.job_id,
      withPoint(next.get(event.job_id), event.attempt, { at: Date.parse(event.at), loss }),
    );
    hasChanged = true;
  }
  for (const [id, { attempt }] of next) {
    const job = jobs.get(id);
    if (job !== undefined && !isFinal(job.status) && job.attempt === attempt) continue;
    next.delete(id);
    hasChanged = true;
  }
  return hasChanged ? next : losses;
}

function withPoint(series: LossSeries | undefined, attempt: number, point: LossPoint): LossSeries {
  if (series === undefined || series.attempt !== attempt)
    return { attempt, earlier: [], gapMs: 0, points: [point] };
  const { gapMs, points, earlier } = series;
  const last = points.at(-1);
  const beforeLast = points.at(-2);
  // After a reconnect, some events arrive a second time.
  if (last !== undefined && point.at < last.at) return series;
  // The last point was stored only because it was the newest.
  const replacesLast = last !== undefined && beforeLast !== undefined && last.at - beforeLast.at < gapMs;
  const all = [...(replacesLast ? points.slice(0, -1) : points), point];
  return { attempt, earlier, ...(all.length > maxPoints ? dropEverySecond(all) : { gapMs, points: all }) };
}

/** Removes every second point, so that the remaining points still cover the whole time. */
function dropEverySecond(points: readonly LossPoint[]): Pick<LossSeries, 'gapMs' | 'points'> {
  const everySecond = points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
  const spanMs = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0);
  return { gapMs: spanMs / (maxPoints / 2), points: everySecond };
}

/** Replaces all points of an attempt with the losses that the server stores, because those losses include all earlier points. */
export function withEarlier(
  losses: Losses,
  id: JobId,
  attempt: number,
  earlier: readonly LossPoint[],
): Losses {
  if (earlier.length === 0 || (losses.get(id)?.attempt ?? attempt) !== attempt) return losses;
  return new Map(losses).set(id, { attempt, earlier, gapMs: 0, points: [] });
}

/**
 * Returns all points in order. The times of `earlier` come from the rig's clock. If that clock is fast, these
 * times are shifted so that they end before the points from the stream.
 */
export function allPoints({ earlier, points }: LossSeries): readonly LossPoint[] {
  const aheadMs = Math.max(0, (earlier.at(-1)?.at ?? 0) - (points[0]?.at ?? Number.POSITIVE_INFINITY));
  return [...earlier.map(({ at, loss }) => ({ at: at - aheadMs, loss })), ...points];
}

/** Scales losses to values from 0 (lowest) to 100 (highest). */
export function scaleLosses(
  points: readonly LossPoint[],
): readonly { readonly at: number; readonly value: number }[] {
  const values = points.map(({ loss }) => loss);
  const lowest = Math.min(...values);
  const span = Math.max(...values) - lowest;
  return points.map(({ at, loss }) => ({ at, value: span === 0 ? 50 : (100 * (loss - lowest)) / span }));
}

/** Compares two losses. A difference of at most one percent is `level`. */
export function compareLosses(first: number, last: number): 'down' | 'up' | 'level' {
  const threshold = Math.max(Math.abs(first), Math.abs(last)) / 100;
  if (Math.abs(last - first) <= threshold) return 'level';
  return last < first ? 'down' : 'up';
}

/** The GPU load of a worker: mean percentage over all its GPUs, and its time in milliseconds since 1970. */
export interface LoadSample {
  readonly at: number;
  readonly percent: number;
}

export type Loads = ReadonlyMap<WorkerId, readonly LoadSample[]>;

/** Samples older than this are dropped. */
export const keptMs = 5 * 60_000;
/** Minimum time between two samples. A list that is read sooner, because of an event, contains no new load. */
const minGapMs = 8_000;

/** Adds the current load of these workers. Drops workers that no longer exist or have no recent load. */
export function withSamples(
  loads: Loads,
  workers: readonly WorkerView[],
  known: { readonly has: (id: WorkerId) => boolean },
  now: number,
): Loads {
  const next = new Map([...loads].filter(([id]) => known.has(id)));
  for (const { id, status, gpu_utilization: percent } of workers) {
    const samples = (loads.get(id) ?? []).filter(({ at }) => at > now - keptMs);
    const last = samples.at(-1);
    const isDue = last === undefined || now - last.at >= minGapMs;
    const isKnown = percent !== null && status !== 'offline';
    const all = isKnown && isDue ? [...samples, { at: now, percent }] : samples;
    if (all.length > 0) next.set(id, all);
    else next.delete(id);
  }
  return next;
}

/**
 * Estimates how far the server's clock is ahead of this computer's, in milliseconds. Returns null when no worker has
 * sent a heartbeat.
 */
export function clockLead(workers: Iterable<WorkerView>, now: number): number | null {
  for (const { last_heartbeat: at, last_contact_age_s: age } of workers)
    if (at !== null && age !== null) return Date.parse(at) + age * 1000 - now;
  return null;
}
