import { describe, expect, test } from 'vitest';
import { finalStatuses } from '../../../protocol/job.ts';
import type { Job, PendingJob } from '../../../main/orchestrator/ports/index.ts';
import {
  asEnded,
  asLive,
  asRequeued,
  makeAttempt,
  makeJob,
  put,
  putWorkers,
  workerId,
  type OpenStore,
} from './builders.ts';

const orders = (jobs: readonly Job[]): number[] => jobs.map(({ order }) => order);

export function describeJobConstraints(open: OpenStore): void {
  describe('replacing a job', () => {
    test.each<[string, (job: PendingJob) => Job]>([
      ['another status', job => asLive(job, 'dispatched')],
      ['another attempt', job => ({ ...asLive(job, 'running'), attempt: makeAttempt(job.id, { n: 2 }) })],
      ['no attempt', job => job],
    ])('refuses to replace a job that is expected to have %s', async (_what, expectedState) => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const running = asLive(job, 'running');
      await put(store, job, running);
      const replacement = asEnded(asLive(job, 'running'), 'completed');
      expect(await store.write(tx => tx.replaceJob(expectedState(job), replacement))).toBe(false);
      expect([store.job(job.id), store.attempts(job.id)]).toEqual([running, [running.attempt]]);
    });

    test('refuses to replace a job that does not exist', async () => {
      const store = open();
      const job = makeJob(1);
      expect(await store.write(tx => tx.replaceJob(job, asEnded(job, 'cancelled')))).toBe(false);
      expect(store.job(job.id)).toBeNull();
    });

    test('accepts only the first of two concurrent replacements', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const job = makeJob(1);
      await put(store, job);
      const offers = ['w_1', 'w_2'].map(id =>
        store.write(tx => tx.replaceJob(job, asLive(job, 'dispatched', { workerId: workerId(id) }))),
      );
      expect(await Promise.all(offers)).toEqual([true, false]);
      expect(store.attempts(job.id)).toMatchObject([{ workerId: 'w_1' }]);
    });
  });

  describe('constraints of the jobs schema', () => {
    const statusPairs = finalStatuses.flatMap(from =>
      (['pending', 'running', ...finalStatuses] as const).map(to => [from, to] as const),
    );
    test.each(statusPairs)(
      'refuses to change an ended job from %s to %s, unless the two statuses are the same',
      async (from, to) => {
        const store = open();
        await putWorkers(store, 'w_1');
        const job = makeJob(1);
        const running = asLive(job, 'running');
        const ended = asEnded(running, from);
        await put(store, job, running, ended);
        const liveStates = { pending: asRequeued(running), running };
        const next = to === 'pending' || to === 'running' ? liveStates[to] : asEnded(running, to);
        const change = store.write(tx => tx.replaceJob(ended, next));
        if (from === to) expect(await change).toBe(true);
        else await expect(change).rejects.toThrow('an ended job does not change its status');
        expect(store.job(job.id)).toEqual(ended);
        expect(store.attempts(job.id)).toEqual([ended.attempt]);
      },
    );

    test('refuses a second live attempt of a job', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const job = makeJob(1);
      const running = asLive(job, 'running');
      await put(store, job, running);
      const second = makeAttempt(job.id, { n: 2, workerId: workerId('w_2') });
      const change = store.write(tx => tx.replaceJob(running, { ...running, attempt: second }));
      await expect(change).rejects.toThrow('UNIQUE constraint failed: attempts.job_id');
      expect([store.job(job.id), store.attempts(job.id)]).toEqual([running, [running.attempt]]);
    });

    test('refuses a second live attempt on a worker, and rolls back only that command', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const [first, second, third] = [makeJob(1), makeJob(2), makeJob(3)];
      await put(store, first);
      await put(store, second);
      await put(store, third);
      const offer = (job: PendingJob, worker: string) =>
        store.write(tx => tx.replaceJob(job, asLive(job, 'dispatched', { workerId: workerId(worker) })));
      const results = await Promise.allSettled([
        offer(first, 'w_1'),
        offer(second, 'w_1'),
        offer(third, 'w_2'),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(results[1]).toMatchObject({
        reason: { message: 'UNIQUE constraint failed: attempts.worker_id' },
      });
      expect(orders(store.liveJobs())).toEqual([1, 3]);
      expect(store.job(second.id)).toEqual(second);
      expect(store.attempts(second.id)).toEqual([]);
    });

    test('refuses an attempt on an unknown worker', async () => {
      const store = open();
      const job = makeJob(1);
      await put(store, job);
      await expect(store.write(tx => tx.replaceJob(job, asLive(job, 'dispatched')))).rejects.toThrow(
        'FOREIGN KEY',
      );
      expect(store.job(job.id)).toEqual(job);
    });

    test('refuses an attempt with a number that the job already used', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const live = asLive(job, 'running');
      const requeued = asRequeued(live);
      await put(store, job, live, requeued);
      const sameNumber = { ...live, attempt: makeAttempt(job.id, { id: 'a_other' as never }) };
      await expect(store.write(tx => tx.replaceJob(requeued, sameNumber))).rejects.toThrow('UNIQUE');
      expect(store.job(job.id)).toEqual(requeued);
    });
  });
}
