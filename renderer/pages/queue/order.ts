import type { JobId } from '../../../protocol/ids.ts';
import { type JobView, priorities } from '../../../protocol/job.ts';

/** A job and its place in the line; null where the server has not said it yet. */
export interface Placed {
  readonly job: JobView;
  readonly place: number | null;
}

/** As the server gave them at one time: a place that came with an event is only true of that moment. */
export type Places = ReadonlyMap<JobId, number>;

/** By one name of priority each time; as high as waiting alone can bring a job is `critical`. */
const boostBy = 10;

const waits = (job: JobView): boolean => job.status === 'pending' && job.approval !== 'wanted';

export const waitsForApproval = (job: JobView): boolean =>
  job.status === 'pending' && job.approval === 'wanted';

/**
 * The jobs that wait, in the order in which they are taken. Who has no place yet comes after those that have one; without
 * places, because there are too many to ask for, the rule of the server decides (docs/queue.md).
 */
export function inLine(jobs: Iterable<JobView>, places: Places | null): readonly Placed[] {
  const waiting = [...jobs].filter(waits);
  if (places === null) return waiting.toSorted(byRank).map((job, at): Placed => ({ job, place: at + 1 }));
  const placed = waiting.map((job): Placed => ({ job, place: places.get(job.id) ?? null }));
  return placed.toSorted(
    (a, b) => (a.place ?? Number.MAX_VALUE) - (b.place ?? Number.MAX_VALUE) || byRank(a.job, b.job),
  );
}

function byRank(a: JobView, b: JobView): number {
  if (a.is_top !== b.is_top) return a.is_top ? -1 : 1;
  return level(b) - level(a) || (a.queued_at < b.queued_at ? -1 : a.queued_at > b.queued_at ? 1 : 0);
}

const level = ({ priority, boosts }: JobView): number =>
  Math.max(priority, Math.min(priorities.critical, priority + boosts * boostBy));

/** Whether a cleanup of so many days would take it; `now` in milliseconds since 1970. */
export const isOld = ({ completed_at: at }: JobView, days: number, now: number): boolean =>
  at !== null && Date.parse(at) <= now - days * 86_400_000;

/** A limit as a person writes it: null for none, undefined for what is no limit. */
export function limitOf(text: string): number | null | undefined {
  const bare = text.trim();
  if (bare === '') return null;
  return /^\d{1,6}$/.test(bare) && Number(bare) <= 100_000 ? Number(bare) : undefined;
}
