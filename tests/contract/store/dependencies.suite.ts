import { describe, expect, test } from 'vitest';
import type { AfterOn } from '../../../protocol/job-dependencies.ts';
import type { Job, PendingJob, Store, Tx } from '../../../main/orchestrator/ports/index.ts';
import { parseSearch } from '../../../protocol/job-search.ts';
import { everyJob } from '../../support/every-job.ts';
import { asEnded, at, emptyPayload, jobId, makeJob, type OpenStore, put } from './builders.ts';

type Dependencies = NonNullable<Job['dependencies']>;

const makeDependencies = (on: Dependencies['on'], ...orders: readonly number[]): Dependencies => ({
  on,
  parents: orders.map(order => ({ id: jobId(`j_${order}`), root: jobId(`j_${order}`), isDone: false })),
});
const allDone = ({ on, parents }: Dependencies): Dependencies => ({
  on,
  parents: parents.map(parent => ({ ...parent, isDone: true })),
});
const idsOf = (jobs: readonly Pick<Job, 'id'>[]) => jobs.map(({ id }) => id);
const dependent = (order: number, dependencies: Dependencies, more: Partial<PendingJob> = {}) =>
  makeJob(order, { dependencies, ...more });

// Stores that all parents of this job are done, so that the job no longer waits.
async function release(store: Store, child: PendingJob): Promise<void> {
  const { dependencies } = child;
  if (dependencies === null) throw new Error('the job has no dependencies');
  await store.write(tx => tx.replaceJob(child, { ...child, dependencies: allDone(dependencies) }));
}

export function describeDependencies(open: OpenStore): void {
  describe('jobs that wait for other jobs', () => {
    test('lists jobs that wait for parents as pending, but queues them only when their parents have ended', async () => {
      const store = open();
      const child = dependent(2, makeDependencies('success', 1));
      await put(store, makeJob(1));
      await put(store, child);
      await put(store, makeJob(3));
      await put(store, dependent(4, makeDependencies('end', 1), { approval: 'wanted' }));
      const filter = { includeFinal: true, user: null, workerId: null, search: parseSearch('') };
      const readAll = () => ({
        queued: store.queuedJobs(9),
        dependent: store.dependentJobs(9),
        pending: idsOf(store.pendingJobs()),
        counts: store.jobCounts(),
        found: store.countFound(filter).filter(({ count }) => count > 0),
        ofUsers: store.countJobs().map(({ status, count }) => [status, count]),
        listed: store.jobs({ ...everyJob, includeFinal: false, limit: 9, offset: 0 }).length,
        unmet: store.waitingJobs().map(({ id, unmet }) => [id, unmet] as const),
        position: store.position(makeJob(3)),
      });
      const unchanged = {
        pending: ['j_1', 'j_2', 'j_3', 'j_4'],
        // `j_4` also waits for approval, so it counts as blocked.
        counts: { pending: 4, blocked: 1, live: 0 },
        found: [
          { status: 'pending', approval: null, count: 3 },
          { status: 'pending', approval: 'wanted', count: 1 },
        ],
        ofUsers: [
          ['blocked', 1],
          ['pending', 3],
        ],
        listed: 4,
      };
      expect(readAll()).toMatchObject({
        ...unchanged,
        queued: ['j_1', 'j_3'],
        dependent: ['j_2'],
        position: 2,
      });
      expect(readAll().unmet.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
        ['j_1', 0],
        ['j_2', 1],
        ['j_3', 0],
        ['j_4', 1],
      ]);
      await release(store, child);
      expect(readAll()).toMatchObject({
        ...unchanged,
        queued: ['j_1', 'j_2', 'j_3'],
        dependent: [],
        position: 3,
      });
      expect(store.job(child.id)?.dependencies).toEqual(allDone(makeDependencies('success', 1)));
    });

    test('finds waiting jobs by their parent, and does not list waiting jobs as due for a priority boost', async () => {
      const store = open();
      const rank = { ...makeJob(1).rank, boostAt: at(1) };
      const [first, second, third] = [
        dependent(2, makeDependencies('success', 1), { rank }),
        dependent(3, makeDependencies('success', 1)),
        dependent(4, makeDependencies('end', 1)),
      ];
      await put(store, makeJob(1));
      for (const child of [first, second, third]) await put(store, child);
      // With `success`, any job of the retry chain counts, so `parent` is null. With `end`, only this parent counts.
      const listOpenChildren = (on: AfterOn, parent: string | null, { limit = 9, after = '' } = {}) =>
        store
          .openChildren(
            {
              root: jobId('j_1'),
              on,
              parent: parent === null ? null : jobId(parent),
              after: after === '' ? null : { parent: jobId('j_1'), child: jobId(after) },
            },
            limit,
          )
          .map(({ child }) => child);
      expect(listOpenChildren('success', null)).toEqual(['j_2', 'j_3']);
      expect(listOpenChildren('success', null, { limit: 1 })).toEqual(['j_2']);
      expect(listOpenChildren('success', null, { after: 'j_2' })).toEqual(['j_3']);
      expect([listOpenChildren('end', 'j_1'), listOpenChildren('end', 'j_9')]).toEqual([['j_4'], []]);
      expect(listOpenChildren('end', 'j_1', { after: 'j_4' })).toEqual([]);
      expect(store.starvingJobs(at(9), 9)).toEqual([]);
      await release(store, first);
      await store.write(tx => tx.replaceJob(second, asEnded(second, 'cancelled')));
      expect([listOpenChildren('success', null), store.isAwaited(jobId('j_1'))]).toEqual([[], true]);
      await store.write(tx => tx.removeJob(third.id));
      expect(store.isAwaited(jobId('j_1'))).toBe(false);
      expect(store.children(jobId('j_1'), 9)).toEqual(['j_2', 'j_3']);
      expect(store.countChildren(jobId('j_1'))).toBe(2);
    });

    test('finds the same waiting jobs after the rollback of a command that added a waiting job or ended its wait', async () => {
      const store = open();
      const child = dependent(2, makeDependencies('success', 1));
      const children = (root: string, on: AfterOn = 'success') =>
        store.openChildren({ root: jobId(root), on, parent: null }, 9).map(link => link.child);
      const expectRolledBack = (command: (tx: Tx) => void) =>
        expect(
          store.write(tx => {
            command(tx);
            throw new Error('undo');
          }),
        ).rejects.toThrow('undo');
      await put(store, makeJob(1));
      await expectRolledBack(tx => tx.insertJob(child, emptyPayload));
      expect(children('j_1')).toEqual([]);
      await put(store, child);
      await expectRolledBack(tx => {
        tx.replaceJob(child, { ...child, dependencies: allDone(makeDependencies('success', 1)) });
        // These jobs exceed the cache, so the store reads the awaited parents from the database. It reads within this
        // transaction, in which the child no longer waits.
        for (let n = 10; n < 1_050; n += 1)
          tx.insertJob(dependent(n, makeDependencies('success', n + 5_000)), emptyPayload);
      });
      expect(children('j_1')).toEqual(['j_2']);
      await release(store, child);
      expect(children('j_1')).toEqual([]);
      await put(store, dependent(3, makeDependencies('end', 1)));
      expect(children('j_1', 'end')).toEqual(['j_3']);
    });

    test('does not list an ended parent for deletion while another job waits for it', async () => {
      const store = open();
      for (const order of [1, 2]) await put(store, makeJob(order), asEnded(makeJob(order), 'failed'));
      const child = dependent(3, makeDependencies('success', 1));
      await put(store, child);
      expect(store.endedJobs(at(99), 9)).toEqual(['j_2']);
      await store.write(tx => tx.replaceJob(child, asEnded(child, 'cancelled')));
      expect(store.endedJobs(at(99), 9)).toEqual(['j_1', 'j_2', 'j_3']);
    });

    test('finds ended parents whose children still wait', async () => {
      const store = open();
      const retry = makeJob(3, { retryOf: jobId('j_1'), retryRoot: jobId('j_1') });
      await put(store, makeJob(1), asEnded(makeJob(1), 'failed'));
      await put(store, makeJob(2), asEnded(makeJob(2), 'cancelled'));
      await put(store, retry);
      await put(store, dependent(4, makeDependencies('success', 1, 2)));
      expect(store.unreleasedParents()).toEqual([]);
      await put(store, dependent(5, makeDependencies('end', 2)));
      expect(store.unreleasedParents()).toEqual(['j_2']);
      await store.write(tx => tx.replaceJob(retry, asEnded(retry, 'completed')));
      // The retry `j_3` counts for its root `j_1`, whose child still waits.
      expect(store.unreleasedParents().toSorted()).toEqual(['j_2', 'j_3']);
      expect(store.isAwaited(retry.id)).toBe(true);
    });
  });

  test('finds the retry of a job that can still complete, or else the newest retry', async () => {
    const store = open();
    const root = jobId('j_1');
    const retry = (order: number) => makeJob(order, { retryOf: root, retryRoot: root });
    const current = () => [store.newestRetry(root)?.id ?? null, store.hasCompleted(root)];
    expect(current()).toEqual([null, false]);
    await put(store, makeJob(1), asEnded(makeJob(1), 'failed'));
    expect(current()).toEqual(['j_1', false]);
    await put(store, retry(2));
    await put(store, retry(3), asEnded(retry(3), 'failed'));
    expect(current()).toEqual(['j_2', false]);
    await store.write(tx => tx.replaceJob(retry(2), asEnded(retry(2), 'cancelled')));
    expect(current()).toEqual(['j_3', false]);
    await put(store, retry(4), asEnded(retry(4), 'completed'));
    expect(current()).toEqual(['j_4', true]);
  });
}
