/** Tests which jobs the list shows, and in which order, when the server has more jobs than the panel has loaded. */
import { describe, expect, it } from 'vitest';
import { WorkerId } from '../../../../../../protocol/ids.ts';
import type { JobView } from '../../../../../../protocol/job.ts';
import { JobSort, parseSearch } from '../../../../../../protocol/job-search.ts';
import { createMatcher } from '../../../../../../renderer/pages/jobs/list/filter.ts';
import {
  compareBy,
  parseOrder,
  shownOrder,
  withOrder,
} from '../../../../../../renderer/pages/jobs/list/job-order.ts';
import { jobView } from '../../../../../support/job-view.ts';
import {
  type FoundJobs,
  jobsToList,
  nothingFound,
  appendPage,
} from '../../../../../../renderer/pages/jobs/list/job-rows.ts';

const usualOrder = { sort: 'submitted', isDescending: true } as const;
const day = (dayOfMonth: number): string => `2026-01-0${dayOfMonth}T00:00:00.000Z`;
const job = (id: string, dayOfMonth: number, overrides: Partial<JobView> = {}): JobView =>
  jobView({ id, job_id: id, queued_at: day(dayOfMonth), ...overrides });

describe('the listed jobs', () => {
  const listed = (live: readonly JobView[], found: FoundJobs, text = ''): readonly string[] =>
    jobsToList({
      live: new Map(live.map(liveJob => [liveJob.id, liveJob])),
      found,
      matches: createMatcher(parseSearch(text)),
      compare: compareBy(usualOrder),
    })
      .toSorted(compareBy(usualOrder))
      .map(({ id, status }) => `${id} ${status}`);

  it('lists the jobs of the stream until the first page arrives', () => {
    expect(listed([job('a', 1), job('b', 2)], nothingFound)).toEqual(['b pending', 'a pending']);
  });

  it('shows the newer state from the stream when a job is also on a page', () => {
    const found = appendPage(nothingFound, [job('b', 2, { status: 'running' }), job('a', 1)], null);
    expect(listed([job('b', 2, { status: 'failed' })], found)).toEqual(['b failed', 'a pending']);
    expect(listed([job('b', 2, { status: 'failed' })], found, 'state:running')).toEqual([]);
  });

  it('hides stream jobs beyond the last loaded page until all pages are loaded', () => {
    const live = [job('old', 1), job('new', 9)];
    const first = appendPage(nothingFound, [job('c', 5), job('b', 4)], 'next');
    expect(listed(live, first)).toEqual(['new pending', 'c pending', 'b pending']);
    const all = appendPage(first, [job('b', 4), job('a', 2)], null);
    expect(all.jobs.map(({ id }) => id)).toEqual(['c', 'b', 'a']);
    expect(listed(live, all)).toEqual(['new pending', 'c pending', 'b pending', 'a pending', 'old pending']);
  });
});

describe('the job order', () => {
  const onWorker = (name: string): Partial<JobView> => ({
    worker_id: WorkerId.parse('w'),
    worker_name: name,
  });
  const jobs = [
    job('a', 1, { config_name: 'beta', progress: { percent: 20 } }),
    job('b', 2, {
      config_name: 'Alpha',
      status: 'running',
      ...onWorker('Rig'),
      progress: { percent: 40, eta_s: 9, loss: 2, best_loss: 0.5 },
    }),
    job('c', 3, {
      config_name: 'alpha',
      status: 'completed',
      ...onWorker('ant'),
      progress: { percent: 90, loss: 1 },
    }),
    job('d', 4, { config_name: 'zeta', status: 'failed', priority: 40 }),
  ];

  it.each<[JobSort, string, string]>([
    ['submitted', 'abcd', 'dcba'],
    ['name', 'cbad', 'dacb'],
    ['state', 'abcd', 'dcba'],
    ['priority', 'cbad', 'dcba'],
    ['worker', 'cbda', 'bcda'],
    ['progress', 'bcda', 'cbda'],
    ['eta', 'bdca', 'bdca'],
    ['loss', 'cbda', 'bcda'],
    ['best_loss', 'bcda', 'cbda'],
  ])('sorts jobs by %s, and jobs without a known value last', (sort, ascending, descending) => {
    const sorted = (isDescending: boolean): string =>
      jobs
        .toSorted(compareBy({ sort, isDescending }))
        .map(({ id }) => id)
        .join('');
    expect([sorted(false), sorted(true)]).toEqual([ascending, descending]);
  });

  it('round-trips the order through the URL, which omits the default order', () => {
    const orderOf = (text: string) => parseOrder(new URLSearchParams(text));
    expect(orderOf('sort=name&order=asc')).toEqual({ sort: 'name', isDescending: false });
    expect(orderOf('sort=nonsense&order=asc')).toEqual(usualOrder);
    expect(withOrder(new URLSearchParams('q=a'), { sort: 'eta', isDescending: true }).toString()).toBe(
      'q=a&sort=eta',
    );
    expect(withOrder(new URLSearchParams('sort=eta&order=asc'), usualOrder).toString()).toBe('');
    for (const sort of JobSort.options)
      for (const isDescending of [true, false])
        expect(parseOrder(withOrder(new URLSearchParams(), { sort, isDescending }))).toEqual({
          sort,
          isDescending,
        });
    expect(shownOrder(usualOrder)).toBeNull();
    expect(shownOrder({ sort: 'name', isDescending: true })).toEqual({ column: 'name', isDescending: true });
  });
});
