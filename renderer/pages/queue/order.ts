import type { JobId } from '../../../protocol/ids.ts';
import { isWaiting, type JobView, priorities } from '../../../protocol/job.ts';

/** A job and its place in the line; null where the server has not said it yet. */
export interface Placed {
  readonly job: JobView;
  readonly place: number | null;
}

/** The jobs that wait, as the server gave them at one time: the next one first. */
export interface Order {
  readonly ids: readonly JobId[];
  /** Their places in the whole line, where jobs of others are left out. */
  readonly places: readonly number[] | undefined;
}

/** By one name of priority each time; as high as waiting alone can bring a job is `critical`. */
const boostBy = 10;

const waits = (job: JobView): boolean => isWaiting(job.status) && job.approval !== 'wanted';

export const waitsForApproval = (job: JobView): boolean => isWaiting(job.status) && job.approval === 'wanted';

/** Finds the row of a job: the same one as before, as long as nothing about it has changed, so that it is not drawn anew. */
export type Placing = (job: JobView, place: number | null) => Placed;

export function createPlacing(): Placing {
  const rows = new WeakMap<JobView, Placed>();
  return (job, place) => {
    const known = rows.get(job);
    if (known?.place === place) return known;
    const row = { job, place };
    rows.set(job, row);
    return row;
  };
}

/**
 * The jobs that wait, in the order in which they are taken. Those that have left the line since the server gave it are passed
 * over, and those that it has not told of yet come last: among themselves by its rule (docs/queue.md), and without a place.
 */
export function inLine(
  jobs: ReadonlyMap<JobId, JobView>,
  order: Order | null,
  placed: Placing,
): readonly Placed[] {
  const rows: Placed[] = [];
  const told = new Set(order?.ids);
  for (const [index, id] of (order?.ids ?? []).entries()) {
    const job = jobs.get(id);
    if (job !== undefined && waits(job)) rows.push(placed(job, order?.places?.[index] ?? rows.length + 1));
  }
  const others = [...jobs.values()].filter(job => waits(job) && !told.has(job.id));
  return [...rows, ...others.toSorted(byRank).map(job => placed(job, null))];
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
