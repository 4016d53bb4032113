import { describe, expect, test } from 'vitest';
import { parseSearch } from '../../../protocol/job-search.ts';
import type { Job, JobFilter, JobPosition, PendingJob } from '../../../main/orchestrator/ports/index.ts';
import { everyJob } from '../../support/every-job.ts';
import {
  asEnded,
  asLive,
  asRequeued,
  at,
  emptyPayload,
  jobId,
  makeAttempt,
  makeEnd,
  makeJob,
  type OpenStore,
  put,
  putEnded,
  putWorkers,
  workerId,
} from './builders.ts';

const filter = (changes: Partial<JobFilter> = {}): JobFilter => ({
  ...everyJob,
  limit: 50,
  offset: 0,
  ...changes,
});
const orders = (jobs: readonly Job[]): number[] => jobs.map(({ order }) => order);

const ranked = (order: number, rank: Partial<PendingJob['rank']>, more: Partial<PendingJob> = {}) =>
  makeJob(order, { rank: { ...makeJob(order).rank, ...rank }, ...more });
const withConfigName = (order: number, configName: string): PendingJob =>
  makeJob(order, { spec: { ...makeJob(order).spec, configName } });

export function describeQueue(open: OpenStore): void {
  describeFilters(open);
  describeRanks(open);
  describeEnds(open);
  describeQueueOrder(open);
}

function describeFilters(open: OpenStore): void {
  describe('filtering the list of jobs', () => {
    test('filters jobs by several statuses', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await put(store, makeJob(1));
      await put(store, makeJob(2), asLive(makeJob(2), 'running'));
      await putEnded(store, 3, at(9));
      expect(orders(store.jobs(filter({ statuses: ['pending', 'cancelled'] })))).toEqual([3, 1]);
      expect(orders(store.jobs(filter({ statuses: ['pending', 'cancelled'], includeFinal: false })))).toEqual(
        [1],
      );
      expect(orders(store.jobs(filter({ statuses: ['running', 'failed'] })))).toEqual([2]);
    });

    test('filters jobs by the exact user name', async () => {
      const store = open();
      for (const [index, user] of ['ada', 'bob', 'Ada', 'ada'].entries())
        await put(store, makeJob(index + 1, { user }));
      expect(orders(store.jobs(filter({ user: 'ada' })))).toEqual([4, 1]);
      expect(store.jobs(filter({ user: 'a%' }))).toEqual([]);
    });

    test('filters jobs by the workers of all their attempts', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const job = makeJob(1);
      const first = asLive(job, 'running');
      const requeued = asRequeued(first);
      await put(store, job, first, requeued);
      expect(orders(store.jobs(filter({ workerId: workerId('w_1') })))).toEqual([1]);
      const second = { ...makeAttempt(job.id, { n: 2 }), workerId: workerId('w_2') };
      await store.write(tx => tx.replaceJob(requeued, asLive(requeued, 'running', second)));
      expect(orders(store.jobs(filter({ workerId: workerId('w_1') })))).toEqual([1]);
      expect(orders(store.jobs(filter({ workerId: workerId('w_2') })))).toEqual([1]);
    });

    test.each([
      ['portrait', [1, 2]],
      ['PORTRAIT', [1, 2]],
      ['j_3', [3]],
      ['J_3', [3]],
      ['100%', [3]],
      ['%', [3]],
      ['_', [1, 2, 3, 4, 5]],
      ['a_b', [4]],
      ['\\', []],
      ["'", []],
      ['übung', [5]],
      ['Übung', [5]],
      ['ÜBUNG', [5]],
      ['', [1, 2, 3, 4, 5]],
    ])('finds jobs with %j in their id or config name in any case', async (text, expectedOrders) => {
      const store = open();
      const names = ['portrait-v2', 'my-Portrait', '100% wool', 'a_b', 'Übung 1'];
      for (const [index, name] of names.entries()) await put(store, withConfigName(index + 1, name));
      expect(orders(store.jobs(filter({ search: parseSearch(text) }))).toReversed()).toEqual(expectedOrders);
    });

    test('filters jobs that need approval', async () => {
      const store = open();
      await put(store, makeJob(1));
      await put(store, makeJob(2, { approval: 'wanted' }));
      await put(store, makeJob(3, { approval: 'given' }));
      await putEnded(store, 4, at(9), { approval: 'wanted' });
      expect(orders(store.jobs(filter({ blocked: true })))).toEqual([2]);
      expect(orders(store.jobs(filter()))).toEqual([4, 3, 2, 1]);
    });

    test('combines all filters of the queue', async () => {
      const store = open();
      await put(store, makeJob(1, { user: 'bob', approval: 'wanted' }));
      await put(store, makeJob(2, { user: 'ada', approval: 'wanted' }));
      await put(store, makeJob(3, { user: 'bob' }));
      const combined = {
        user: 'bob',
        blocked: true,
        statuses: ['pending'],
        search: parseSearch('inline'),
      } as const;
      expect(orders(store.jobs(filter(combined)))).toEqual([1]);
    });
  });

  test('pages through jobs by cursor without gaps or repeats while jobs are added', async () => {
    const store = open();
    let newest = 0;
    const add = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await put(store, makeJob((newest += 1)));
    };
    await add(25);
    const listedOrders: number[] = [];
    for (let after: JobPosition | null = null; ; ) {
      const page = orders(store.jobs(filter({ after, limit: 10 })));
      listedOrders.push(...page);
      if (page.length < 10) break;
      after = store.jobPosition(jobId(`j_${page.at(-1)}`), 'submitted');
      await add(3);
    }
    expect(listedOrders).toEqual(Array.from({ length: 25 }, (_, index) => 25 - index));
  });
}

// The rank of a job decides its position in the queue: by level, then by turn, a sort number within the level. The level
// follows from the priority, the boosts of a long wait, and `top`, which counts moves to the top of the queue.
function describeRanks(open: OpenStore): void {
  describe('rank of a job', () => {
    test('stores and replaces the rank of a job unchanged', async () => {
      const store = open();
      const rank = { priority: 7, boosts: 2, boostAt: at(3_600), top: 3, level: 103, turn: 1.5 };
      const job = makeJob(1, { rank, user: 'größe', approval: 'wanted', retryOf: jobId('j_0') });
      await put(store, job);
      expect(store.job(job.id)).toEqual(job);
      const next: PendingJob = {
        ...job,
        approval: 'given',
        rank: { priority: 50, boosts: 0, boostAt: null, top: 0, level: 50, turn: 2 },
      };
      await store.write(tx => tx.replaceJob(job, next));
      expect(store.job(job.id)).toEqual(next);
    });

    test('orders pending jobs by level, not by priority', async () => {
      const store = open();
      const jobs = [
        ranked(1, { priority: 50, level: 50 }),
        ranked(2, { priority: 0, top: 1, level: 101 }),
        ranked(3, { priority: 10, boosts: 3, level: 40 }),
        ranked(4, { priority: 40, level: 40 }),
        ranked(5, { priority: 50, level: 50 }, { approval: 'wanted' }),
      ];
      for (const job of jobs) await put(store, job);
      expect(orders(store.pendingJobs())).toEqual([2, 1, 5, 3, 4]);
      expect(jobs.slice(0, 4).map(job => store.position(job))).toEqual([2, 1, 3, 4]);
      expect(store.jobCounts()).toEqual({ pending: 5, blocked: 1, live: 0 });
    });
  });

  describe('highestTop', () => {
    test('returns 0 as the highest top number while no job was moved to the top of the queue', async () => {
      const store = open();
      expect(store.highestTop()).toBe(0);
      await put(store, makeJob(1));
      expect(store.highestTop()).toBe(0);
    });

    test('returns the highest top number of pending and live jobs, ignoring ended jobs', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await put(store, ranked(1, { top: 2, level: 102 }));
      expect(store.highestTop()).toBe(2);
      const running = ranked(2, { top: 5, level: 105 });
      await put(store, running, asLive(running, 'running'));
      expect(store.highestTop()).toBe(5);
      const ended = ranked(3, { top: 9, level: 109 });
      await put(store, ended, asEnded(ended, 'cancelled'));
      expect(store.highestTop()).toBe(5);
    });
  });

  test('returns pending jobs due for a priority boost, the most overdue first, except blocked jobs', async () => {
    const store = open();
    await putWorkers(store, 'w_1');
    await put(store, ranked(1, { boostAt: at(20) }));
    await put(store, ranked(2, { boostAt: at(10) }));
    await put(store, ranked(3, { boostAt: at(10) }, { approval: 'given' }));
    await put(store, ranked(4, { boostAt: at(5) }, { approval: 'wanted' }));
    await put(store, ranked(5, { boostAt: null }));
    const running = ranked(6, { boostAt: at(1) });
    await put(store, running, asLive(running, 'running'));
    expect(orders(store.starvingJobs(at(20), 9))).toEqual([2, 3, 1]);
    expect(orders(store.starvingJobs(at(20), 1))).toEqual([2]);
    expect(orders(store.starvingJobs(at(10), 9))).toEqual([2, 3]);
    expect(store.starvingJobs(at(10) - 1, 9)).toEqual([]);
    expect(store.starvingJobs(at(20), 9)[0]).toEqual(store.job(jobId('j_2')));
  });
}

function describeEnds(open: OpenStore): void {
  describe('ended jobs', () => {
    test('returns jobs that ended before a time, the oldest first', async () => {
      const store = open();
      await putEnded(store, 1, at(30));
      await putEnded(store, 2, at(10));
      await putEnded(store, 3, at(20));
      await put(store, makeJob(4));
      expect(store.endedJobs(at(30), 9)).toEqual(['j_2', 'j_3']);
      expect(store.endedJobs(at(31), 9)).toEqual(['j_2', 'j_3', 'j_1']);
      expect(store.endedJobs(at(31), 1)).toEqual(['j_2']);
      expect(store.endedJobs(at(10), 9)).toEqual([]);
    });

    test('removes a job with its attempts and config, and nothing else', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const [removedJob, otherJob] = [makeJob(1), makeJob(2)];
      await put(
        store,
        removedJob,
        asLive(removedJob, 'running'),
        asEnded(asLive(removedJob, 'running'), 'completed'),
      );
      await put(store, otherJob, asLive(otherJob, 'running', { workerId: workerId('w_2') }));
      await store.write(tx => tx.removeJob(removedJob.id));
      expect(store.job(removedJob.id)).toBeNull();
      expect(store.payload(removedJob.id)).toBeNull();
      expect(store.attempts(removedJob.id)).toEqual([]);
      expect(orders(store.jobs(filter()))).toEqual([2]);
      expect(store.payload(otherJob.id)).toEqual(emptyPayload);
      expect(store.attempts(otherJob.id)).toHaveLength(1);
      expect(store.worker(workerId('w_1'))).not.toBeNull();
    });
  });

  test('counts jobs by user and status', async () => {
    const store = open();
    expect(store.countJobs()).toEqual([]);
    await putWorkers(store, 'w_1');
    await put(store, makeJob(1, { user: 'bob' }));
    await put(store, makeJob(2));
    await put(store, makeJob(3));
    await put(store, makeJob(4), asLive(makeJob(4), 'recovering'));
    expect(store.countJobs()).toEqual([
      { user: 'ada', status: 'pending', count: 2 },
      { user: 'ada', status: 'recovering', count: 1 },
      { user: 'bob', status: 'pending', count: 1 },
    ]);
  });

  test('finds the newest completed jobs that are alike, of one user or of all users', async () => {
    const store = open();
    await putWorkers(store, 'w_1');
    // Jobs with the same likeness key are alike.
    const putEndedRun = async (
      order: number,
      likeness: string | null,
      status: 'completed' | 'failed',
      user = 'ada',
    ) => {
      const newJob = makeJob(order, { user });
      const job = likeness === null ? newJob : { ...newJob, spec: { ...newJob.spec, likeness } };
      const live = asLive(job, 'running', { startedAt: at(order) });
      const end = makeEnd({ at: at(order + 5), outcome: status });
      await put(store, job, live, {
        ...asEnded(live, status, { endedAt: at(order + 5) }),
        attempt: { ...live.attempt, end },
      });
      expect(store.job(job.id)?.spec).toEqual(job.spec);
    };
    for (let order = 1; order <= 10; order++) await putEndedRun(order, 'flux', 'completed');
    await putEndedRun(11, 'sdxl', 'completed');
    await putEndedRun(12, null, 'completed');
    await putEndedRun(13, 'flux', 'failed');
    await putEndedRun(14, 'flux', 'completed', 'bob');
    const ids = (user: string | null) => store.alikeJobs('flux', user).map(({ id }) => id);
    expect(ids(null)).toEqual([14, 10, 9, 8, 7, 6, 5, 4].map(order => makeJob(order).id));
    expect(ids('bob')).toEqual([makeJob(14).id]);
    expect(store.alikeJobs('flux', 'bob')).toMatchObject([{ ranMs: 5_000, steps: null, isWhole: true }]);
    expect(store.alikeJobs('sd3', null)).toEqual([]);
  });

  test('averages waiting and running times of jobs that ended since a time, by their newest attempts', async () => {
    const store = open();
    const none = { completed: 0, failed: 0, cancelled: 0, averageWaitMs: null, averageRunMs: null };
    expect(store.jobTimes(0)).toEqual(none);
    await putWorkers(store, 'w_1');
    const putEndedRun = async (
      order: number,
      started: number,
      ended: number,
      status: 'completed' | 'failed',
    ) => {
      const job = makeJob(order, { queuedAt: at(0) });
      const live = asLive(job, 'running', { startedAt: at(started) });
      const end = makeEnd({ at: at(ended), outcome: status });
      await put(store, job, live, {
        ...asEnded(live, status, { endedAt: at(ended) }),
        attempt: { ...live.attempt, end },
      });
    };
    await putEndedRun(1, 10, 20, 'completed');
    await putEndedRun(2, 20, 50, 'failed');
    await putEnded(store, 3, at(60));
    expect(store.jobTimes(at(20))).toEqual({
      completed: 1,
      failed: 1,
      cancelled: 1,
      averageWaitMs: 15_000,
      averageRunMs: 20_000,
    });
    expect(store.jobTimes(at(21))).toMatchObject({ completed: 0, failed: 1, averageWaitMs: 20_000 });
    // This job never started, so it has no times.
    expect(store.jobTimes(at(60))).toEqual({ ...none, cancelled: 1 });
    expect(store.jobTimes(at(61))).toEqual(none);
  });
}

const withGpus = (order: number, gpuCount: number, devices: readonly number[] | null = null): PendingJob => {
  const { spec } = makeJob(order);
  return makeJob(order, { spec: { ...spec, devices, requirements: { ...spec.requirements, gpuCount } } });
};

function describeQueueOrder(open: OpenStore): void {
  test('returns the queue in dispatch order, without jobs that need approval', async () => {
    const store = open();
    expect(store.queuedJobs(10)).toEqual([]);
    await putWorkers(store, 'w_1');
    const jobs = [
      makeJob(1),
      ranked(2, { level: 30 }),
      ranked(3, { level: 101, top: 1 }),
      makeJob(4, { approval: 'wanted' }),
      ranked(5, { level: 30 }),
      makeJob(6, { approval: 'given' }),
    ];
    for (const job of jobs) await put(store, job);
    await put(store, makeJob(7), asLive(makeJob(7), 'running'));
    await putEnded(store, 8, at(9));
    expect(store.queuedJobs(10)).toEqual(['j_3', 'j_2', 'j_5', 'j_1', 'j_6']);
    expect(store.queuedJobs(2)).toEqual(['j_3', 'j_2']);
    const waiting = jobs.filter(({ approval }) => approval !== 'wanted');
    for (const job of waiting) expect(store.queuedJobs(10)[store.position(job) - 1]).toBe(job.id);
  });

  test('orders jobs of one level by turn (sort number), then by submission, and finds the neighbours of a job', async () => {
    const store = open();
    const turns = [1, 2, 0.5, 2, 1.5];
    const jobs = turns.map((turn, index) => ranked(index + 1, { turn }));
    for (const job of jobs) await put(store, job);
    await put(store, ranked(6, { level: 30, turn: 1 }));
    await put(store, ranked(7, { turn: 1.2 }, { approval: 'wanted' }));
    expect(store.queuedJobs(10)).toEqual(['j_6', 'j_3', 'j_1', 'j_5', 'j_2', 'j_4']);
    const inOrder = [3, 1, 5, 2, 4].map(order => ranked(order, { turn: turns[order - 1] ?? 0 }));
    expect(inOrder.map(job => store.position(job))).toEqual([2, 3, 4, 5, 6]);
    for (const [index, job] of inOrder.entries()) {
      expect(orders(store.pendingAhead(job, 9))).toEqual([6, ...orders(inOrder.slice(0, index))]);
      expect(store.neighbours(job, 'before', 2)).toEqual(inOrder.slice(0, index).toReversed().slice(0, 2));
      expect(store.neighbours(job, 'after', 2)).toEqual(inOrder.slice(index + 1, index + 3));
    }
    expect(orders(store.pendingJobs())).toEqual([6, 3, 1, 7, 5, 2, 4]);
  });

  test('returns the placement data of all pending jobs, and of no other jobs', async () => {
    const store = open();
    await putWorkers(store, 'w_1', 'w_2');
    const { requirements } = makeJob(1).spec;
    const demanding = { ...requirements, gpuCount: 2, labels: { site: 'attic' } };
    const second = makeAttempt(jobId('j_3'), { n: 2, workerId: workerId('w_2') });
    const secondRun = asLive(makeJob(3), 'running', second);
    await put(store, makeJob(1, { user: 'bob' }));
    await put(
      store,
      ranked(2, { level: 30 }, { approval: 'wanted', spec: { ...makeJob(2).spec, requirements: demanding } }),
    );
    await put(
      store,
      makeJob(3),
      asLive(makeJob(3), 'running'),
      asRequeued(asLive(makeJob(3), 'running')),
      secondRun,
      asRequeued(secondRun),
    );
    await put(store, makeJob(4), asLive(makeJob(4), 'running'));
    await putEnded(store, 5, at(9));
    const placement = {
      requirements,
      user: 'ada',
      team: null,
      level: 10,
      avoid: null,
      approval: null,
      notBefore: 0,
      lastCause: null,
      retriesUsed: 0,
      unmet: 0,
    };
    expect(store.waitingJobs().toSorted((a, b) => a.order - b.order)).toEqual([
      { ...placement, id: 'j_1', order: 1, user: 'bob' },
      { ...placement, id: 'j_2', order: 2, level: 30, approval: 'wanted', requirements: demanding },
      { ...placement, id: 'j_3', order: 3, avoid: 'w_2', notBefore: at(30), lastCause: 'worker_lost' },
    ]);
  });

  test('groups pending jobs with the same requirements, and names the first of each group', async () => {
    const store = open();
    await putWorkers(store, 'w_1');
    for (const [order, gpus] of [1, 8, 1, 8, 8, 2].entries()) await put(store, withGpus(order + 1, gpus));
    await put(store, { ...withGpus(7, 4), approval: 'wanted' });
    await put(store, withGpus(8, 16), asLive(withGpus(8, 16), 'running'));
    const kinds = store.waitingKinds(10, null);
    expect(kinds.map(({ first, count }) => [first, count])).toEqual([
      ['j_1', 2],
      ['j_2', 3],
      ['j_6', 1],
    ]);
    expect(kinds[1]?.requirements).toEqual(withGpus(2, 8).spec.requirements);
    expect(store.waitingKinds(1, null)).toHaveLength(1);
  });

  test('counts pending jobs for the local machine, except those that need approval', async () => {
    const store = open();
    await putWorkers(store, 'w_1');
    const local = (order: number): PendingJob => {
      const job = withGpus(order, 1);
      return { ...job, spec: { ...job.spec, requirements: { ...job.spec.requirements, target: 'local' } } };
    };
    await put(store, local(1));
    await put(store, local(2));
    await put(store, withGpus(3, 1));
    await put(store, { ...local(4), approval: 'wanted' });
    await put(store, local(5), asLive(local(5), 'running'));
    expect(store.pendingLocally()).toBe(2);
  });

  test('adds up GPU time within a period, whether jobs completed, run or were requeued', async () => {
    const store = open();
    expect(store.gpuMs(at(0), at(100))).toBe(0);
    await putWorkers(store, 'w_1', 'w_2', 'w_3');
    // Two GPUs from second 10 to second 20.
    const completedRun = asLive(withGpus(1, 2), 'running', { startedAt: at(10) });
    await put(store, withGpus(1, 2), completedRun, {
      ...asEnded(completedRun, 'completed', { endedAt: at(20) }),
      attempt: { ...completedRun.attempt, end: makeEnd({ at: at(20) }) },
    });
    // One GPU, which the config names, from second 30 until now.
    await put(store, withGpus(2, 0, [3]), asLive(withGpus(2, 0, [3]), 'running', { startedAt: at(30) }));
    // Four GPUs from second 40 to second 50. That attempt has ended, and the job is pending again.
    const lostRun = asLive(withGpus(3, 4), 'running', { startedAt: at(40), workerId: workerId('w_2') });
    await put(store, withGpus(3, 4), lostRun, {
      ...asRequeued(lostRun),
      attempt: { ...lostRun.attempt, end: makeEnd({ at: at(50), outcome: 'requeued' }) },
    });
    // No GPU time, because the job was offered but never started.
    await put(store, withGpus(4, 8), asLive(withGpus(4, 8), 'dispatched', { workerId: workerId('w_3') }));
    const seconds = (since: number, now: number): number => store.gpuMs(at(since), at(now)) / 1_000;
    expect(seconds(0, 100)).toBe(2 * 10 + 70 + 4 * 10);
    expect(seconds(15, 100)).toBe(2 * 5 + 70 + 4 * 10);
    expect(seconds(45, 60)).toBe(15 + 4 * 5);
    expect(seconds(20, 30)).toBe(0);
  });
}
