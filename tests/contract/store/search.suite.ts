import { describe, expect, test } from 'vitest';
import { finalStatuses, type JobStatus, liveStatuses } from '../../../protocol/job.ts';
import { type JobAbout, nothingAbout } from '../../../protocol/job-about.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import { JobSort, parseSearch } from '../../../protocol/job-search.ts';
import type {
  Job,
  JobFilter,
  JobPosition,
  PendingJob,
  Store,
} from '../../../main/orchestrator/ports/index.ts';
import { everyJob } from '../../support/every-job.ts';
import {
  asEnded,
  asLive,
  asRequeued,
  at,
  makeAttempt,
  makeJob,
  makeWorker,
  type OpenStore,
  put,
  workerId,
} from './builders.ts';

const filter = (changes: Partial<JobFilter> = {}): JobFilter => ({
  ...everyJob,
  limit: 50,
  offset: 0,
  ...changes,
});
const orders = (jobs: readonly Job[]): number[] => jobs.map(({ order }) => order);
const withConfigName = (order: number, configName: string, more: Partial<PendingJob> = {}): PendingJob =>
  makeJob(order, { ...more, spec: { ...makeJob(order).spec, configName } });
const withAbout = (order: number, about: JobAbout): PendingJob =>
  makeJob(order, { spec: { ...makeJob(order).spec, configName: `demo-${order}`, about } });
const search = (store: Store, text: string): number[] =>
  orders(store.jobs(filter({ search: parseSearch(text), isDescending: false })));

const putWorker = (store: Store, id: string, name: string): Promise<void> =>
  store.write(tx => tx.insertWorker(makeWorker({ id: workerId(id), name }), `hash-of-${id}`));

export function describeSearch(open: OpenStore): void {
  describe('searching jobs', () => {
    test('finds the jobs of a worker by any of their attempts', async () => {
      const store = open();
      const [first, second] = ['w_1', 'w_2'].map(workerId) as [WorkerId, WorkerId];
      for (const id of [first, second]) await putWorker(store, id, id);
      const live = asLive(makeJob(1), 'running', { workerId: first });
      const secondAttempt = makeAttempt(live.id, { n: 2, workerId: second });
      await put(store, makeJob(1), live, asRequeued(live), { ...live, attempt: secondAttempt });
      await put(store, makeJob(2));
      const ordersOnWorker = (id: WorkerId): number[] => orders(store.jobs(filter({ workerId: id })));
      expect([ordersOnWorker(first), ordersOnWorker(second)]).toEqual([[1], [1]]);
    });

    test('finds jobs by config name, user, error and worker name', async () => {
      const store = open();
      await putWorker(store, 'w_1', 'Rig-Nord');
      await put(store, withConfigName(1, 'flux portrait', { user: 'Ada' }));
      const failed = withConfigName(2, 'sdxl', { user: 'bob' });
      const running = asLive(failed, 'running');
      await put(store, failed, running, asEnded(running, 'failed', { error: 'CUDA out of memory' }));
      expect(search(store, 'FLUX ada')).toEqual([1]);
      expect(search(store, '"flux portrait"')).toEqual([1]);
      expect(search(store, 'portrait flux')).toEqual([1]);
      expect(search(store, 'cuda')).toEqual([2]);
      expect(search(store, 'nord')).toEqual([2]);
      expect(search(store, 'flux cuda')).toEqual([]);
      await store.write(tx => tx.removeWorker(workerId('w_1')));
      expect(search(store, 'nord')).toEqual([2]);
    });

    test('finds jobs when one search word is part of another, in any order', async () => {
      const store = open();
      await put(store, withConfigName(1, 'flux portrait'));
      await put(store, withConfigName(2, 'flux'));
      await put(store, withConfigName(3, 'port'));
      expect(
        ['port portrait', 'portrait port', 'portrait portrait'].map(text => search(store, text)),
      ).toEqual([[1], [1], [1]]);
      expect(search(store, 'port')).toEqual([1, 3]);
    });

    test('finds jobs by name, and sorts them by the name that people see', async () => {
      const store = open();
      const about = { ...nothingAbout, name: 'Größe' };
      await put(store, withConfigName(1, 'zeta'));
      await put(store, withAbout(2, about));
      await put(store, withConfigName(3, 'alpha'));
      expect(search(store, 'größe')).toEqual([2]);
      expect(search(store, 'demo-2')).toEqual([2]);
      expect(orders(store.jobs(filter({ sort: 'name', isDescending: false })))).toEqual([3, 2, 1]);
    });

    test('filters jobs by group and by every tag, ignoring case', async () => {
      const store = open();
      await put(store, withAbout(1, { ...nothingAbout, tags: ['Base', 'ÜBER'], group: 'Lr-1' }));
      await put(store, withAbout(2, { ...nothingAbout, tags: ['base'], group: 'lr-2' }));
      await put(store, makeJob(3));
      expect(search(store, 'tag:base')).toEqual([1, 2]);
      expect(search(store, 'tag:base tag:über')).toEqual([1]);
      expect(search(store, 'tag:bas')).toEqual([]);
      expect(search(store, 'tag:b_se')).toEqual([]);
      expect(search(store, 'group:lr-1')).toEqual([1]);
      expect(search(store, 'group:lr-*')).toEqual([1, 2]);
      expect(search(store, 'group:lr-1 group:LR-2 tag:über')).toEqual([1]);
    });

    test('finds a job only by the name of the worker that ran its newest attempt', async () => {
      const store = open();
      await putWorker(store, 'w_1', 'north');
      await putWorker(store, 'w_2', 'south');
      const job = makeJob(1);
      const first = asLive(job, 'running');
      const requeued = asRequeued(first);
      const second = { id: requeued.attempt?.id, n: 2, workerId: workerId('w_2') };
      const attempt = { ...first.attempt, ...second, id: `${first.attempt.id}_2` as typeof first.attempt.id };
      await put(store, job, first, requeued, { ...asLive(requeued, 'running'), attempt });
      expect(search(store, 'worker:north')).toEqual([]);
      expect(search(store, 'north')).toEqual([]);
      expect(search(store, 'worker:SOUTH')).toEqual([1]);
      expect(search(store, 'worker:w_2')).toEqual([1]);
    });

    test('ignores case beyond ASCII in every part of a job', async () => {
      const store = open();
      await putWorker(store, 'w_1', 'Größe');
      await put(store, withConfigName(1, 'Übung', { user: 'Ömer' }));
      const failed = withConfigName(2, '画像');
      const running = asLive(failed, 'running');
      await put(store, failed, running, asEnded(running, 'failed', { error: 'ÄRGER' }));
      expect(search(store, 'übung ömer')).toEqual([1]);
      expect(search(store, 'ärger 画像')).toEqual([2]);
      expect(search(store, 'größe')).toEqual([2]);
      expect(search(store, 'übung ärger')).toEqual([]);
    });

    test('supports * as a wildcard in user names, and no other pattern', async () => {
      const store = open();
      for (const [index, user] of ['ci', 'ci-2', 'c_i', 'CI%', 'Ünal'].entries())
        await put(store, makeJob(index + 1, { user }));
      expect(search(store, 'user:ci')).toEqual([1]);
      expect(search(store, 'user:ci*')).toEqual([1, 2, 4]);
      expect(search(store, 'user:c_i')).toEqual([3]);
      expect(search(store, 'user:*%')).toEqual([4]);
      expect(search(store, 'user:ünal')).toEqual([5]);
      expect(search(store, 'user:ci user:c_i')).toEqual([1, 3]);
    });

    test('filters jobs by several states, and distinguishes blocked from pending', async () => {
      const store = open();
      await putWorker(store, 'w_1', 'rig');
      await put(store, makeJob(1));
      await put(store, makeJob(2, { approval: 'wanted' }));
      await put(store, makeJob(3), asLive(makeJob(3), 'dispatched'));
      await put(store, makeJob(4), asEnded(makeJob(4), 'failed'));
      expect(search(store, 'state:pending')).toEqual([1]);
      expect(search(store, 'state:blocked')).toEqual([2]);
      expect(search(store, 'state:blocked,failed')).toEqual([2, 4]);
      expect(search(store, 'state:starting state:pending')).toEqual([1, 3]);
      expect(search(store, 'state:nonsense')).toEqual([]);
    });

    test('counts matching jobs by status, with and without conditions', async () => {
      const store = open();
      const statuses: readonly JobStatus[] = ['pending', ...liveStatuses, ...finalStatuses];
      for (const [index, status] of statuses.entries()) {
        await putWorker(store, `w_${index}`, `rig-${index}`);
        const job = withConfigName(index + 1, index % 2 === 0 ? 'even' : 'odd');
        const live = liveStatuses.find(each => each === status);
        const final = finalStatuses.find(each => each === status);
        const running = asLive(job, live ?? 'running', { workerId: workerId(`w_${index}`) });
        if (status === 'pending') await put(store, job);
        else await put(store, job, running, ...(final === undefined ? [] : [asEnded(running, final)]));
      }
      await put(store, makeJob(90, { approval: 'wanted' }));
      const countMatches = (text: string, changes: Partial<JobFilter> = {}) =>
        Object.fromEntries(
          store
            .countFound(filter({ search: parseSearch(text), ...changes }))
            .filter(({ count }) => count > 0)
            .map(({ status, approval, count }) => [`${status} ${approval ?? ''}`.trim(), count]),
        );
      const onePerStatus = Object.fromEntries(statuses.map(status => [status, 1]));
      expect(countMatches('')).toEqual({ ...onePerStatus, 'pending wanted': 1 });
      expect(countMatches('state:failed')).toEqual(countMatches(''));
      expect(countMatches('even')).toEqual(
        Object.fromEntries(statuses.filter((_, index) => index % 2 === 0).map(status => [status, 1])),
      );
      expect(Object.keys(countMatches('', { includeFinal: false })).toSorted()).toEqual(
        ['pending', 'pending wanted', ...liveStatuses].toSorted(),
      );
    });
  });

  describe('sorting jobs', () => {
    async function putVariedJobs(store: Store): Promise<void> {
      for (const id of [1, 2, 3]) await putWorker(store, `w_${id}`, ['zeta', 'Alpha', 'beta'][id - 1] ?? '');
      await put(store, withConfigName(1, 'beta'));
      const ranked = { ...makeJob(2).rank, priority: 30, level: 30 };
      await put(store, withConfigName(2, 'Alpha', { rank: ranked, approval: 'wanted' }));
      for (const order of [3, 4, 5]) {
        const job = withConfigName(order, order === 3 ? 'alpha' : 'gamma');
        const running = asLive(job, 'running', { workerId: workerId(`w_${order - 2}`) });
        const steps = order === 5 ? [running, asEnded(running, 'completed', { endedAt: at(9) })] : [running];
        await put(store, job, ...steps);
        const best = order === 4 ? { best_loss: 9 } : {};
        const progress = {
          step: order * 10,
          total_steps: 100,
          steps_per_second: 2,
          loss: 1 / order,
          ...best,
        };
        await store.write(tx => tx.setProgress(job.id, progress));
      }
    }

    test.each<[JobSort, number[], number[]]>([
      ['submitted', [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]],
      ['name', [3, 2, 1, 5, 4], [5, 4, 1, 3, 2]],
      ['state', [1, 2, 4, 3, 5], [5, 4, 3, 2, 1]],
      ['priority', [5, 4, 3, 1, 2], [2, 5, 4, 3, 1]],
      ['worker', [4, 5, 3, 2, 1], [3, 5, 4, 2, 1]],
      ['progress', [3, 4, 5, 2, 1], [5, 4, 3, 2, 1]],
      ['eta', [4, 3, 5, 2, 1], [3, 4, 5, 2, 1]],
      ['loss', [5, 4, 3, 2, 1], [3, 4, 5, 2, 1]],
      ['best_loss', [5, 3, 4, 2, 1], [4, 3, 5, 2, 1]],
    ])(
      'sorts jobs by %s with unknown values last, and pages by cursor',
      async (sort, ascending, descending) => {
        const store = open();
        await putVariedJobs(store);
        for (const isDescending of [false, true]) {
          const pagedOrders: number[] = [];
          for (let after: JobPosition | null = null; ; ) {
            const [job] = store.jobs(filter({ sort, isDescending, after, limit: 1 }));
            if (job === undefined) break;
            pagedOrders.push(job.order);
            after = store.jobPosition(job.id, sort);
          }
          expect(pagedOrders).toEqual(isDescending ? descending : ascending);
          expect(orders(store.jobs(filter({ sort, isDescending })))).toEqual(pagedOrders);
        }
      },
    );

    test.each(['', 'odd', 'state:failed,pending', 'worker:rig*'])(
      'returns the same jobs by offset, by cursor and in one page, with the search "%s"',
      async text => {
        const store = open();
        await putWorker(store, 'w_1', 'rig');
        for (let order = 1; order <= 12; order += 1) {
          const job = withConfigName(order, order % 2 === 0 ? `even-${order % 3}` : 'odd');
          const running = asLive(job, 'running');
          const status = order % 4 === 0 ? 'failed' : 'completed';
          const progress = { step: order % 5, total_steps: 10, loss: order % 3 };
          if (order % 3 === 0) await put(store, job);
          else await put(store, job, running, { ...asEnded(running, status), progress });
        }
        for (const sort of JobSort.options)
          for (const isDescending of [false, true]) {
            const query = { sort, isDescending, search: parseSearch(text) };
            const all = orders(store.jobs(filter(query)));
            expect(all.length).toBeGreaterThan(2);
            for (let offset = 0; offset < all.length; offset += 2) {
              const page = all.slice(offset, offset + 2);
              expect(orders(store.jobs(filter({ ...query, offset, limit: 2 })))).toEqual(page);
              const [last] = store.jobs(filter({ ...query, offset: offset + 1, limit: 1 }));
              const after = last === undefined ? null : store.jobPosition(last.id, sort);
              if (after !== null)
                expect(orders(store.jobs(filter({ ...query, after, limit: 2 })))).toEqual(
                  all.slice(offset + 2, offset + 4),
                );
            }
          }
      },
    );

    test('returns a cursor for each job in every order, and null for an unknown job', async () => {
      const store = open();
      const job = makeJob(7);
      await put(store, job);
      for (const sort of JobSort.options) expect(store.jobPosition(job.id, sort)?.order).toBe(7);
      expect(store.jobPosition('j_none' as typeof job.id, 'name')).toBeNull();
    });
  });
}
