import type { UiEvent } from '../../protocol/events.ts';
import type { JobId } from '../../protocol/ids.ts';
import { isFinal, type JobView } from '../../protocol/job.ts';

/** A loss at a time, in milliseconds since 1970. */
export interface LossPoint {
  readonly at: number;
  readonly loss: number;
}

/** The losses of one attempt, sorted by time. */
interface LossSeries {
  readonly attempt: number;
  /** Losses read from the server; `points` came from the stream later. */
  readonly earlier: readonly LossPoint[];
  /** Minimum distance between kept points, in milliseconds. The last point is always the newest one. */
  readonly gapMs: number;
  readonly points: readonly LossPoint[];
}

export type Losses = ReadonlyMap<JobId, LossSeries>;

/** A sparkline cannot show more points. */
const maxPoints = 60;

/** Adds the losses in these events. Drops jobs that have ended or are gone, and earlier attempts. */
export function heard(losses: Losses, events: readonly UiEvent[], jobs: ReadonlyMap<JobId, JobView>): Losses {
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
  const [before, last] = points.slice(-2);
  const newest = last ?? before;
  // After a reconnect, some events arrive twice.
  if (newest !== undefined && point.at < newest.at) return series;
  const isClose = before !== undefined && last !== undefined && last.at - before.at < gapMs;
  const all = [...(isClose ? points.slice(0, -1) : points), point];
  return { attempt, earlier, ...(all.length > maxPoints ? thinned(all) : { gapMs, points: all }) };
}

/** Drops every second point, so that the curve still covers the whole time. */
function thinned(points: readonly LossPoint[]): Pick<LossSeries, 'gapMs' | 'points'> {
  const kept = points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
  const spanMs = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0);
  return { gapMs: spanMs / (maxPoints / 2), points: kept };
}

/** Adds the losses from before the page opened. They include those that arrived in the meantime. */
export function withEarlier(
  losses: Losses,
  id: JobId,
  attempt: number,
  earlier: readonly LossPoint[],
): Losses {
  if (earlier.length === 0 || (losses.get(id)?.attempt ?? attempt) !== attempt) return losses;
  return new Map(losses).set(id, { attempt, earlier, gapMs: 0, points: [] });
}

/** Returns all points. Times of `earlier` come from the rig's clock, so they are shifted to end before the first streamed point. */
export function pointsOf({ earlier, points }: LossSeries): readonly LossPoint[] {
  const tooLate = Math.max(0, (earlier.at(-1)?.at ?? 0) - (points[0]?.at ?? Number.POSITIVE_INFINITY));
  return [...earlier.map(({ at, loss }) => ({ at: at - tooLate, loss })), ...points];
}

/** Scales losses from 0 (lowest) to 100 (highest). */
export function scaled(
  points: readonly LossPoint[],
): readonly { readonly at: number; readonly value: number }[] {
  const values = points.map(({ loss }) => loss);
  const least = Math.min(...values);
  const span = Math.max(...values) - least;
  return points.map(({ at, loss }) => ({ at, value: span === 0 ? 50 : (100 * (loss - least)) / span }));
}

/** A change of less than one percent counts as level. */
export function directionOf(first: number, last: number): 'down' | 'up' | 'level' {
  const least = Math.max(Math.abs(first), Math.abs(last)) / 100;
  if (Math.abs(last - first) <= least) return 'level';
  return last < first ? 'down' : 'up';
}
