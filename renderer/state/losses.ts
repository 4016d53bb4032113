import type { UiEvent } from '../../protocol/events.ts';
import type { JobId } from '../../protocol/ids.ts';
import { isFinal, type JobView } from '../../protocol/job.ts';

/** A loss at a time, in milliseconds since 1970. */
export interface LossPoint {
  readonly at: number;
  readonly loss: number;
}

/** The losses of one attempt, in the order of time. */
interface LossSeries {
  readonly attempt: number;
  /** As they were read; the others were heard after that. */
  readonly earlier: readonly LossPoint[];
  /** Points that are kept lie at least so far apart; the last one is always the newest that there is. */
  readonly gapMs: number;
  readonly points: readonly LossPoint[];
}

export type Losses = ReadonlyMap<JobId, LossSeries>;

/** More are not told apart in a small picture. */
const mostPoints = 60;

/** With what these events say. Nothing is kept of a job that has ended or is gone, nor of an attempt that another one follows. */
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
  // After a break some events come twice.
  if (newest !== undefined && point.at < newest.at) return series;
  const isClose = before !== undefined && last !== undefined && last.at - before.at < gapMs;
  const all = [...(isClose ? points.slice(0, -1) : points), point];
  return { attempt, earlier, ...(all.length > mostPoints ? thinned(all) : { gapMs, points: all }) };
}

/** Every other one goes, so that the picture reaches as far back as before. */
function thinned(points: readonly LossPoint[]): Pick<LossSeries, 'gapMs' | 'points'> {
  const kept = points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
  const spanMs = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0);
  return { gapMs: spanMs / (mostPoints / 2), points: kept };
}

/** With what was there before this page was opened. What was heard meanwhile is in it. */
export function withEarlier(
  losses: Losses,
  id: JobId,
  attempt: number,
  earlier: readonly LossPoint[],
): Losses {
  if (earlier.length === 0 || (losses.get(id)?.attempt ?? attempt) !== attempt) return losses;
  return new Map(losses).set(id, { attempt, earlier, gapMs: 0, points: [] });
}

/** All of them. Those that were read have their times from the clock of a rig: they never lie behind what was heard after them. */
export function pointsOf({ earlier, points }: LossSeries): readonly LossPoint[] {
  const tooLate = Math.max(0, (earlier.at(-1)?.at ?? 0) - (points[0]?.at ?? Number.POSITIVE_INFINITY));
  return [...earlier.map(({ at, loss }) => ({ at: at - tooLate, loss })), ...points];
}

/** From 0, the lowest, to 100, the highest of them. */
export function scaled(
  points: readonly LossPoint[],
): readonly { readonly at: number; readonly value: number }[] {
  const values = points.map(({ loss }) => loss);
  const least = Math.min(...values);
  const span = Math.max(...values) - least;
  return points.map(({ at, loss }) => ({ at, value: span === 0 ? 50 : (100 * (loss - least)) / span }));
}

/** Less than a hundredth is no direction. */
export function directionOf(first: number, last: number): 'down' | 'up' | 'level' {
  const least = Math.max(Math.abs(first), Math.abs(last)) / 100;
  if (Math.abs(last - first) <= least) return 'level';
  return last < first ? 'down' : 'up';
}
