import type { JobId } from '../../../protocol/ids.ts';
import { isWaiting, type JobView, priorities } from '../../../protocol/job.ts';
import { useCallback, useState } from 'react';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useEventReads } from '../../app/use-event-reads.ts';

/** A pending job and its queue position; `place` is null until the server has reported the position. */
export interface QueueRow {
  readonly job: JobView;
  readonly place: number | null;
}

/** The order of the pending jobs at the time of the read, next job first. */
export interface Order {
  readonly ids: readonly JobId[];
  /** Positions in the whole queue, parallel to `ids`. The server sends positions when `ids` omits jobs of other users. */
  readonly places: readonly number[] | undefined;
}

/** Increase of the priority per boost: the distance between two named priorities. The maximum is `critical`. */
const boostBy = 10;

const waits = (job: JobView): boolean => isWaiting(job.status) && job.approval !== 'wanted';

export const waitsForApproval = (job: JobView): boolean => isWaiting(job.status) && job.approval === 'wanted';

/** Returns true if the job waits for other jobs. Such a job has no position in the queue. */
export const waitsForJobs = ({ after }: JobView): boolean =>
  after?.parents.some(({ done }) => !done) ?? false;

/**
 * Returns the table row of a job. Returns the same object until the job or its position changes, so that React does not
 * render the row again.
 */
export type RowCache = (job: JobView, place: number | null) => QueueRow;

export function createRowCache(): RowCache {
  const rows = new WeakMap<JobView, QueueRow>();
  return (job, place) => {
    const cached = rows.get(job);
    if (cached?.place === place) return cached;
    const row = { job, place };
    rows.set(job, row);
    return row;
  };
}

/**
 * Returns the pending jobs in dispatch order. Skips jobs that have left the queue since the server reported the order.
 * Appends jobs without a position, sorted by the server's rule (docs/queue.md). Jobs that wait for other jobs come last.
 */
export function toQueueRows(
  jobs: ReadonlyMap<JobId, JobView>,
  order: Order | null,
  rowOf: RowCache,
): readonly QueueRow[] {
  const rows: QueueRow[] = [];
  const ordered = new Set(order?.ids);
  for (const [index, id] of (order?.ids ?? []).entries()) {
    const job = jobs.get(id);
    if (job !== undefined && waits(job)) rows.push(rowOf(job, order?.places?.[index] ?? rows.length + 1));
  }
  const others = [...jobs.values()].filter(job => waits(job) && !ordered.has(job.id));
  return [...rows, ...others.toSorted(byRank).map(job => rowOf(job, null))];
}

function byRank(a: JobView, b: JobView): number {
  if (waitsForJobs(a) !== waitsForJobs(b)) return waitsForJobs(a) ? 1 : -1;
  if (a.is_top !== b.is_top) return a.is_top ? -1 : 1;
  const byPriority = effectivePriority(b) - effectivePriority(a);
  if (byPriority !== 0 || a.queued_at === b.queued_at) return byPriority;
  return a.queued_at < b.queued_at ? -1 : 1;
}

/** Returns the priority of a job including its boosts. */
export const effectivePriority = ({ priority, boosts }: JobView): number =>
  Math.max(priority, Math.min(priorities.critical, priority + boosts * boostBy));

/**
 * Returns true when a cleanup of jobs older than `days` days would delete the job; `now` is in milliseconds since 1970.
 */
export const isOld = ({ completed_at: at }: JobView, days: number, now: number): boolean =>
  at !== null && Date.parse(at) <= now - days * 86_400_000;

/** Parses a limit: null for no limit, undefined for invalid text. */
export function limitOf(text: string): number | null | undefined {
  const bare = text.trim();
  if (bare === '') return null;
  return /^\d{1,6}$/.test(bare) && Number(bare) <= 100_000 ? Number(bare) : undefined;
}

/**
 * Delay between an event and the next read of the order. It is longer for a long queue, because 10,000 ids take 200 kB.
 */
const readDelayMs = 1_000;
const longReadDelayMs = 2_000;
/** Number of jobs above which a queue counts as long. */
const longQueue = 5_000;

/** The order after a failed first read. The jobs are then sorted by the server's rule. */
const unknownOrder: Order = { ids: [], places: undefined };

/** Returns the server's order of pending jobs (null until loaded), and a function that reads the order immediately. */
export function useQueueOrder(): { readonly order: Order | null; readonly readAgain: () => Promise<void> } {
  const { client } = usePanel();
  const [order, setOrder] = useState<Order | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      const answer = await client.call(queueApi.line, { signal });
      if (signal.aborted) return;
      if (answer.ok) setOrder({ ids: answer.value.job_ids, places: answer.value.places });
      else setOrder(before => before ?? unknownOrder);
    },
    [client],
  );
  useEventReads(read, (order?.ids.length ?? 0) > longQueue ? longReadDelayMs : readDelayMs);
  const readAgain = useCallback(() => read(new AbortController().signal), [read]);
  return { order, readAgain };
}
