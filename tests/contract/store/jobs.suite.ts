import { describe, expect, test } from 'vitest';
import { finalStatuses, type JobStatus, liveStatuses } from '../../../protocol/job.ts';
import { parseSearch } from '../../../protocol/job-search.ts';
import type { Job, JobFilter, PendingJob, Store } from '../../../main/orchestrator/ports/index.ts';
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
  put,
  putWorkers,
  withPriority,
  workerId,
  type OpenStore,
} from './builders.ts';
import { everyJob } from '../../support/every-job.ts';

const filter = (changes: Partial<JobFilter> = {}): JobFilter => ({
  ...everyJob,
  limit: 50,
  offset: 0,
  ...changes,
});
const orders = (jobs: readonly Job[]): number[] => jobs.map(({ order }) => order);

// Stores one job in each status. `j_1` is pending, and each live job has its own worker.
async function putOneOfEach(store: Store): Promise<readonly JobStatus[]> {
  await putWorkers(store, 'w_1', ...liveStatuses.map(status => `w_${status}`));
  const statuses: readonly JobStatus[] = ['pending', ...liveStatuses, ...finalStatuses];
  await put(store, makeJob(1));
  for (const [index, status] of liveStatuses.entries()) {
    const job = makeJob(index + 2);
    await put(store, job, asLive(job, status, { workerId: workerId(`w_${status}`) }));
  }
  for (const [index, status] of finalStatuses.entries()) {
    const job = makeJob(index + 2 + liveStatuses.length);
    await put(store, job, asLive(job, 'running'), asEnded(asLive(job, 'running'), status));
  }
  return statuses;
}

function describeStoredJobs(open: OpenStore): void {
  describe('jobs', () => {
    test.each<[string, Partial<PendingJob>]>([
      ['as submitted', {}],
      [
        'with text in any script',
        {
          spec: {
            configName: 'größe 火 “x”',
            about: {
              name: 'größe',
              tags: ['火', 'b'],
              group: 'g:1',
              sweep: { 'a.b': 0.5, c: null },
              template: 't',
            },
            requirements: {
              target: 'worker',
              gpuCount: 1024,
              vramGb: 79.5,
              accelerator: 'rocm',
              guarded: true,
              configKeys: [],
              labels: { größe: '*火\u2028', team: 'n?p' },
            },
            devices: [0, 3],
            maxRetries: 0,
            retryOn: ['timeout', 'out_of_memory'],
            onLostContact: 'stop',
            timeoutMs: 90_500,
            requests: ['sample'],
          },
        },
      ],
      [
        'with progress figures',
        { progress: { step: 3, loss: 1e-9, stage: 'unet', metrics: { größe: -0.5 } } },
      ],
      ['with used retries', { retriesUsed: 2, notBefore: at(77) }],
    ])('stores a job %s unchanged', async (_what, changes) => {
      const store = open();
      const job = makeJob(1, changes);
      await put(store, job);
      expect(store.job(job.id)).toEqual(job);
      expect(store.pendingJobs()).toEqual([job]);
    });

    test.each(liveStatuses)('stores a %s job with its attempt', async status => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const live = asLive(job, status, { startedAt: at(2) });
      await put(store, job, live);
      expect([store.job(job.id), store.liveJobOf(workerId('w_1'))]).toEqual([live, live]);
      expect(store.liveJobs()).toEqual([live]);
      expect(store.attempts(job.id)).toEqual([live.attempt]);
    });

    test.each(['cancel', 'timeout', 'drain'] as const)('stores the stop request of a job: %s', async why => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const running = asLive(job, 'running');
      const stopping: Job = { ...running, status: 'cancelling', stop: { why, since: at(8) } };
      const stoppedAgain: Job = { ...stopping, stop: { why: 'cancel', since: at(9) } };
      await put(store, job, running, stopping);
      expect(store.job(job.id)).toEqual(stopping);
      expect(await store.write(tx => tx.replaceJob(stopping, stoppedAgain))).toBe(true);
      expect([store.job(job.id), store.liveJobOf(workerId('w_1'))]).toEqual([stoppedAgain, stoppedAgain]);
      await store.write(tx => tx.replaceJob(stoppedAgain, asEnded(running, 'cancelled')));
      expect(store.job(job.id)).toEqual(asEnded(running, 'cancelled'));
    });

    test.each([
      ['requeued', true],
      ['given_up', true],
      ['given_up', false],
      ['withdrawn', false],
    ] as const)(
      'stores how the attempt of a pending job ended: %s (used a retry: %s)',
      async (outcome, charged) => {
        const store = open();
        await putWorkers(store, 'w_1');
        const job = makeJob(1);
        const live = asLive(job, 'running');
        const requeued = asRequeued(live, {
          attempt: { ...live.attempt, end: makeEnd({ outcome, charged, cause: 'worker_lost' }) },
        });
        await put(store, job, live, requeued);
        expect(store.job(job.id)).toEqual(requeued);
        expect(store.attempts(job.id)).toEqual([requeued.attempt]);
      },
    );

    test('keeps the late result of an attempt when its job changes later', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const job = makeJob(1);
      const firstLive = asLive(job, 'running');
      const requeued = asRequeued(firstLive);
      const second = makeAttempt(job.id, { n: 2, workerId: workerId('w_2') });
      const running: Job = { ...firstLive, status: 'running', attempt: second };
      await put(store, job, firstLive, requeued, running);
      const late = { at: at(50), status: 'completed', exitCode: 0 } as const;
      await store.write(tx => tx.setLateResult(firstLive.attempt.id, late));
      expect(store.attempts(job.id)).toEqual([{ ...requeued.attempt, late }, second]);
      await store.write(tx => tx.replaceJob(running, asEnded(running, 'completed')));
      expect(store.attempts(job.id)[0]?.late).toEqual(late);
    });

    test('keeps the links of an attempt when its job changes later', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const live = asLive(job, 'running');
      await put(store, job, live);
      const links = [{ kind: 'wandb', url: 'https://wandb.ai/ada/flux/runs/1' }];
      await store.write(tx => tx.setLinks(live.attempt.id, links));
      const linked = { ...live, attempt: { ...live.attempt, links } };
      expect(store.job(job.id)).toEqual(linked);
      await store.write(tx => tx.replaceJob(linked, asEnded(linked, 'completed')));
      expect(store.attempts(job.id)[0]?.links).toEqual(links);
    });

    test('keeps the late result of the newest attempt when that attempt is replaced', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const live = asLive(job, 'running');
      const requeued = asRequeued(live);
      await put(store, job, live, requeued);
      const late = { at: at(50), status: 'failed', exitCode: null } as const;
      await store.write(tx => tx.setLateResult(live.attempt.id, late));
      const reopened: Job = { ...live, attempt: { ...live.attempt, late } };
      expect(await store.write(tx => tx.replaceJob(requeued, reopened))).toBe(true);
      expect(store.job(job.id)).toEqual(reopened);
    });

    test.each(finalStatuses)('stores how a %s job ended', async status => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const end = makeEnd({
        outcome: status,
        cause: 'trainer_exit',
        error: 'größe\n\u2028“boom”',
        exitCode: -9,
        signal: 'SIGKILL',
      });
      const live = asLive(job, 'running', { startedAt: at(2) });
      const ended = asEnded(live, status, {
        attempt: { ...live.attempt, end },
        cause: 'trainer_exit',
        error: end.error,
      });
      await put(store, job, live, ended);
      expect(store.job(job.id)).toEqual(ended);
      expect(store.attempts(job.id)).toEqual([ended.attempt]);
      expect([store.liveJobs(), store.pendingJobs(), store.liveJobOf(workerId('w_1'))]).toEqual([
        [],
        [],
        null,
      ]);
    });

    test('stores an ended job without any attempt', async () => {
      const store = open();
      const job = makeJob(1);
      await put(store, job, asEnded(job, 'cancelled'));
      expect(store.job(job.id)).toEqual(asEnded(job, 'cancelled'));
      expect(store.attempts(job.id)).toEqual([]);
    });

    test('stores a requeued job with its last attempt', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const requeued = asRequeued(asLive(job, 'running'), { retriesUsed: 1 });
      await put(store, job, asLive(job, 'running'), requeued);
      expect(store.job(job.id)).toEqual(requeued);
      expect(store.pendingJobs()).toEqual([requeued]);
      expect(store.liveJobOf(workerId('w_1'))).toBeNull();
    });

    test('lists the attempts of a job oldest first, and returns the newest with the job', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const job = makeJob(1);
      const firstLive = asLive(job, 'running');
      const requeued = asRequeued(firstLive);
      const second = makeAttempt(job.id, { n: 2, workerId: workerId('w_2'), offeredAt: at(40) });
      await put(store, job, firstLive, requeued, { ...firstLive, status: 'dispatched', attempt: second });
      expect(store.attempts(job.id)).toEqual([requeued.attempt, second]);
      expect(store.job(job.id)?.attempt).toEqual(second);
      expect([store.liveJobOf(workerId('w_1')), store.liveJobOf(workerId('w_2'))?.id]).toEqual([
        null,
        job.id,
      ]);
    });

    test('reopens the attempt of a job that resumes', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const live = asLive(job, 'running');
      await put(store, job, live, asRequeued(live), live);
      expect(store.job(job.id)).toEqual(live);
      expect(store.attempts(job.id)).toEqual([live.attempt]);
    });

    test('returns null for an unknown job', () => {
      const store = open();
      const id = jobId('j_9');
      expect([store.job(id), store.payload(id), store.attempts(id)]).toEqual([null, null, []]);
    });

    test.each([
      ['empty values', {}, null],
      [
        'nested values',
        { a: [1, null, { b: 'ü\u2028"' }], '--lr': '1e-4', n: 0.1 },
        [{ id: 'x', repeats: 0 }],
      ],
      ['a dataloader of false', {}, false],
    ])('stores a payload of %s unchanged', async (_what, config, dataloader) => {
      const store = open();
      const job = makeJob(1);
      await store.write(tx => tx.insertJob(job, { config, dataloader, files: {} }));
      expect(store.payload(job.id)).toEqual({ config, dataloader, files: {} });
    });

    test('updates only the progress of a job', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      await put(store, job, asLive(job, 'running'));
      await store.write(tx => tx.setProgress(job.id, { step: 5, metrics: { a: 1 } }));
      expect(store.job(job.id)).toEqual({
        ...asLive(job, 'running'),
        progress: { step: 5, metrics: { a: 1 } },
      });
    });
  });
}

function describeLists(open: OpenStore): void {
  describe('listing jobs', () => {
    test('lists jobs newest first, page by page', async () => {
      const store = open();
      for (let order = 1; order <= 5; order++) await put(store, makeJob(order));
      expect(orders(store.jobs(filter()))).toEqual([5, 4, 3, 2, 1]);
      expect(orders(store.jobs(filter({ limit: 2 })))).toEqual([5, 4]);
      expect(orders(store.jobs(filter({ limit: 2, offset: 3 })))).toEqual([2, 1]);
      expect(store.jobs(filter({ offset: 5 }))).toEqual([]);
    });

    test('filters jobs by one status, or by the state "not ended"', async () => {
      const store = open();
      const statuses = await putOneOfEach(store);
      expect(orders(store.jobs(filter()))).toEqual(statuses.map((_status, index) => index + 1).toReversed());
      for (const [index, status] of statuses.entries()) {
        expect(orders(store.jobs(filter({ statuses: [status] })))).toEqual([index + 1]);
      }
      const alive = store.jobs(filter({ includeFinal: false }));
      expect(alive.map(({ status }) => status)).toEqual(['pending', ...liveStatuses].toReversed());
    });

    test('filters jobs by part of an id or name, ignoring case', async () => {
      const store = open();
      for (const [index, configName] of ['École Nord', 'lora_50%', 'LORAx50'].entries()) {
        const job = makeJob(index + 1);
        await put(store, { ...job, spec: { ...job.spec, configName } });
      }
      const found = (text: string) => orders(store.jobs(filter({ search: parseSearch(text) })));
      expect([found('École'), found('ÉCOLE')]).toEqual([[1], [1]]);
      expect([found('lora'), found('a_50%')]).toEqual([[3, 2], [2]]);
      expect(found('J_2')).toEqual([2]);
    });
  });

  test('counts pending and live jobs', async () => {
    const store = open();
    expect(store.jobCounts()).toEqual({ pending: 0, blocked: 0, live: 0 });
    await putOneOfEach(store);
    await put(store, makeJob(20));
    expect(store.jobCounts()).toEqual({ pending: 2, blocked: 0, live: liveStatuses.length });
  });

  test('returns live jobs in the order of submission', async () => {
    const store = open();
    await putOneOfEach(store);
    expect(store.liveJobs().map(({ status }) => status)).toEqual([...liveStatuses]);
    for (const status of liveStatuses) expect(store.liveJobOf(workerId(`w_${status}`))?.status).toBe(status);
    expect(store.liveJobOf(workerId('w_1'))).toBeNull();
  });

  test('returns pending jobs by priority, then by submission, and their positions', async () => {
    const store = open();
    const priorities = [10, 50, 10, 0, 50];
    for (const [index, priority] of priorities.entries()) await put(store, withPriority(index + 1, priority));
    const pending = store.pendingJobs();
    expect(orders(pending)).toEqual([2, 5, 1, 3, 4]);
    expect(pending.map(job => store.position(job))).toEqual([1, 2, 3, 4, 5]);
  });

  test('returns the first jobs ahead of a job in queue order', async () => {
    const store = open();
    await putOneOfEach(store);
    const priorities = [10, 50, 10, 0, 50];
    for (const [index, priority] of priorities.entries())
      await put(store, withPriority(index + 21, priority));
    await put(store, { ...withPriority(30, 50), approval: 'wanted' });
    const ordersAhead = (job: PendingJob, limit: number): number[] => orders(store.pendingAhead(job, limit));
    expect(ordersAhead(withPriority(23, 10), 9)).toEqual([22, 25, 1, 21]);
    expect(ordersAhead(withPriority(23, 10), 3)).toEqual([22, 25, 1]);
    expect(ordersAhead(withPriority(23, 10), 1)).toEqual([22]);
    expect(ordersAhead(withPriority(22, 50), 9)).toEqual([]);
    expect(ordersAhead(withPriority(Number.MAX_SAFE_INTEGER, 0), 9)).toEqual([22, 25, 1, 21, 23, 24]);
  });

  test('ignores live and ended jobs in the position of a pending job', async () => {
    const store = open();
    await putOneOfEach(store);
    await put(store, withPriority(20, 5));
    expect(store.position(withPriority(20, 5))).toBe(2);
  });

  test('numbers jobs from 1 and never reuses a number', async () => {
    const store = open();
    expect(await store.write(tx => tx.nextJobOrder())).toBe(1);
    await put(store, makeJob(1));
    const [second, third] = await Promise.all(
      [1, 2].map(() =>
        store.write(tx => {
          const order = tx.nextJobOrder();
          tx.insertJob(makeJob(order), emptyPayload);
          return order;
        }),
      ),
    );
    expect([second, third]).toEqual([2, 3]);
  });

  test.each([
    ['id', { id: jobId('j_1') }],
    ['order', { order: 1 }],
  ])('refuses a job with an existing %s', async (_what, changes) => {
    const store = open();
    await put(store, makeJob(1));
    await expect(put(store, makeJob(2, changes))).rejects.toThrow('UNIQUE');
    expect(store.pendingJobs()).toEqual([makeJob(1)]);
    expect(store.payload(jobId('j_2'))).toBeNull();
  });
}

export function describeJobs(open: OpenStore): void {
  describeStoredJobs(open);
  describeLists(open);
}
