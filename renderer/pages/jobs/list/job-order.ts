import { type JobSort, JobSort as Sorts, jobStates, stateOf } from '../../../../protocol/job-search.ts';
import { shownName } from '../../../../protocol/job-about.ts';
import { isWaiting, type JobView } from '../../../../protocol/job.ts';
import { bestLossOf } from '../best.ts';
import type { Order } from '../../../ui/table-order.ts';

export interface JobOrder {
  readonly sort: JobSort;
  readonly isDescending: boolean;
}

/** Sorts the newest job first. */
const defaultOrder: JobOrder = { sort: 'submitted', isDescending: true };

/** Lowercases only ASCII letters, because the database compares text that way. */
const lower = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase());

/**
 * The values by which jobs are sorted. Keep in sync with the server (`main/store/rows/job-search.ts`). Null comes last in
 * both directions.
 */
export const sortValues: Readonly<Record<JobSort, (job: JobView) => string | number | null>> = {
  submitted: job => Date.parse(job.queued_at),
  name: job => lower(shownName(job)),
  state: job => jobStates.indexOf(stateOf(job)),
  priority: job => job.priority,
  worker: job => (job.worker_name === null ? null : lower(job.worker_name)),
  progress(job) {
    if (job.status === 'completed') return 100;
    return isWaiting(job.status) ? null : (job.progress?.percent ?? null);
  },
  eta: job => (job.status === 'running' ? (job.progress?.eta_s ?? null) : null),
  loss: job => (isWaiting(job.status) ? null : (job.progress?.loss ?? null)),
  best_loss: job => (isWaiting(job.status) ? null : bestLossOf(job.progress)),
};

/** Returns a function that compares jobs by this order. If two jobs have equal values, the newer one comes first. */
export function compareBy({ sort, isDescending }: JobOrder): (a: JobView, b: JobView) => number {
  const read = sortValues[sort];
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    const [one, other] = [read(a), read(b)];
    if (one === other) return newestFirst(a, b);
    if (one === null) return 1;
    if (other === null) return -1;
    return one < other ? -sign : sign;
  };
}

function newestFirst(a: JobView, b: JobView): number {
  if (a.queued_at === b.queued_at) return 0;
  return a.queued_at < b.queued_at ? 1 : -1;
}

/** Reads the order from the URL: `?sort=name&order=asc`. */
export function parseOrder(params: URLSearchParams): JobOrder {
  const sort = Sorts.safeParse(params.get('sort'));
  return sort.success ? { sort: sort.data, isDescending: params.get('order') !== 'asc' } : defaultOrder;
}

export function withOrder(params: URLSearchParams, { sort, isDescending }: JobOrder): URLSearchParams {
  const changed = new URLSearchParams(params);
  changed.delete('sort');
  changed.delete('order');
  if (sort === defaultOrder.sort && isDescending) return changed;
  changed.set('sort', sort);
  if (!isDescending) changed.set('order', 'asc');
  return changed;
}

/** Returns the order for the table header. Returns null for the default order, so that the header shows no arrow. */
export const shownOrder = ({ sort, isDescending }: JobOrder): Order | null =>
  sort === defaultOrder.sort && isDescending ? null : { column: sort, isDescending };
