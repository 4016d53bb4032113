import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import type { Read } from '../../../main/orchestrator/ports/index.ts';
import { everyJob } from '../../support/every-job.ts';
import {
  asLive,
  emptyPayload,
  jobId,
  makeJob,
  makeWorker,
  put,
  putWorkers,
  type OpenStore,
  workerId,
} from './builders.ts';

export function describeWrites(open: OpenStore): void {
  describe('commands', () => {
    test('runs a command after the current turn of the event loop', async () => {
      const store = open();
      const job = makeJob(1);
      const written = put(store, job);
      expect(store.job(job.id)).toBeNull();
      await written;
      expect(store.job(job.id)).toEqual(job);
    });

    test('returns the result of a command', async () => {
      const store = open();
      const answers = [
        store.write(() => 1),
        store.write(() => 'two'),
        store.write(() => null),
        store.write(() => {}),
      ];
      expect(await Promise.all(answers)).toEqual([1, 'two', null, undefined]);
    });

    test('runs the commands of one event loop turn in order, then their effects, then the answers', async () => {
      const store = open();
      const trace: string[] = [];
      const command = (name: string) =>
        store
          .write(tx => {
            trace.push(`run ${name}`);
            tx.afterCommit(() => trace.push(`effect ${name}.1`));
            tx.afterCommit(() => trace.push(`effect ${name}.2`));
          })
          .then(() => trace.push(`answer ${name}`));
      await Promise.all([command('a'), command('b')]);
      expect(trace).toEqual([
        'run a',
        'run b',
        'effect a.1',
        'effect a.2',
        'effect b.1',
        'effect b.2',
        'answer a',
        'answer b',
      ]);
    });

    test('runs each command and its effects in the async context of its caller', async () => {
      const store = open();
      const caller = new AsyncLocalStorage<string>();
      const contexts: (string | undefined)[] = [];
      const recordContext = (): void => void contexts.push(caller.getStore());
      const command = () =>
        store.write(tx => {
          recordContext();
          tx.afterCommit(recordContext);
        });
      await Promise.all([caller.run('a', command), caller.run('b', command), command()]);
      expect(contexts).toEqual(['a', 'b', undefined, 'a', 'b', undefined]);
    });

    test('shows each command the changes of the previous commands', async () => {
      const store = open();
      void put(store, makeJob(1));
      const [firstCount, secondCount] = await Promise.all([
        store.write(tx => tx.pendingJobs().length),
        store.write(tx => {
          tx.insertJob(makeJob(2), emptyPayload);
          return tx.pendingJobs().length;
        }),
      ]);
      expect([firstCount, secondCount]).toEqual([1, 2]);
    });

    test.each<[string, (read: Read) => unknown, unknown]>([
      ['the queue', read => read.queuedJobs(9), ['j_1']],
      ['the pending jobs', read => read.pendingJobs().map(({ id }) => id), ['j_1']],
      ['the placement data', read => read.waitingJobs().map(({ id }) => id), ['j_1']],
      ['the position', read => read.position(makeJob(2)), 2],
      [
        'the list of jobs',
        read => read.jobs({ ...everyJob, limit: 9, offset: 0 }).map(({ id }) => id),
        ['j_1'],
      ],
      ['the counts', read => read.jobCounts(), { pending: 1, blocked: 0, live: 0 }],
      ['the attempts', read => read.attempts(jobId('j_1')), []],
    ])('shows an inserted job in later reads of the same command: %s', async (_what, read, expected) => {
      const store = open();
      const results = await store.write(tx => {
        tx.insertJob(makeJob(1), emptyPayload);
        return [read(tx), read(store)];
      });
      expect([...results, read(store)]).toEqual([expected, expected, expected]);
    });

    test('stores a job that is inserted and dispatched in one command, or nothing if the command fails', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const job = makeJob(1);
      const dispatched = asLive(job, 'dispatched');
      const insertAndDispatch = (isRolledBack: boolean) =>
        store.write(tx => {
          tx.insertJob(job, { config: { steps: 3 }, dataloader: null, files: {} });
          expect(tx.replaceJob(job, dispatched)).toBe(true);
          expect(tx.replaceJob(job, asLive(job, 'dispatched', { workerId: workerId('w_2') }))).toBe(false);
          if (isRolledBack) throw new Error('no');
        });
      await expect(insertAndDispatch(true)).rejects.toThrow('no');
      expect([store.job(job.id), store.liveJobs(), store.payload(job.id)]).toEqual([null, [], null]);
      await insertAndDispatch(false);
      expect([store.job(job.id), store.liveJobs(), store.pendingJobs()]).toEqual([
        dispatched,
        [dispatched],
        [],
      ]);
      expect([store.attempts(job.id), store.payload(job.id)?.config]).toEqual([
        [dispatched.attempt],
        { steps: 3 },
      ]);
    });

    test('inserts no job when its order number is taken', async () => {
      const store = open();
      await put(store, makeJob(1));
      const other = { ...makeJob(2), order: 1 };
      await expect(store.write(tx => tx.insertJob(other, emptyPayload))).rejects.toThrow(/UNIQUE/);
      expect([store.job(other.id), store.payload(other.id), store.queuedJobs(9)]).toEqual([
        null,
        null,
        ['j_1'],
      ]);
    });

    test('rolls back only the failing command, effects included', async () => {
      const store = open();
      const cause = new Error('no');
      const effects: string[] = [];
      const results = await Promise.allSettled([
        store.write(tx => {
          tx.insertJob(makeJob(1), emptyPayload);
          tx.afterCommit(() => effects.push('first'));
        }),
        store.write(tx => {
          tx.insertJob(makeJob(2), emptyPayload);
          tx.insertWorker(makeWorker(), 'hash');
          tx.afterCommit(() => effects.push('second'));
          throw cause;
        }),
        store.write(tx => {
          tx.insertJob(makeJob(3), emptyPayload);
          tx.afterCommit(() => effects.push('third'));
        }),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(results[1]).toHaveProperty('reason', cause);
      expect(store.pendingJobs().map(({ order }) => order)).toEqual([1, 3]);
      expect([store.payload(jobId('j_2')), store.workers()]).toEqual([null, []]);
      expect(effects).toEqual(['first', 'third']);
    });

    test('runs the rollback hooks of a failed command before the next command', async () => {
      const store = open();
      const trace: string[] = [];
      const command = (name: string, fails: boolean) =>
        store.write(tx => {
          trace.push(name);
          tx.afterRollback(() => trace.push(`${name} is rolled back, jobs: ${store.pendingJobs().length}`));
          tx.insertJob(makeJob(trace.length), emptyPayload);
          if (fails) throw new Error('no');
        });
      await Promise.allSettled([command('a', false), command('b', true), command('c', false)]);
      await command('d', false);
      expect(trace).toEqual(['a', 'b', 'b is rolled back, jobs: 1', 'c', 'd']);
    });

    test('accepts a write from an effect for the next transaction', async () => {
      const store = open();
      const { promise, resolve } = Promise.withResolvers<number>();
      await store.write(tx => {
        tx.insertJob(makeJob(1), emptyPayload);
        tx.afterCommit(() => void store.write(later => later.pendingJobs().length).then(resolve));
      });
      expect(await promise).toBe(1);
    });

    test('accepts a write from a command for the next transaction', async () => {
      const store = open();
      const nestedWrites: Promise<void>[] = [];
      await store.write(tx => {
        nestedWrites.push(put(store, makeJob(2)));
        tx.insertJob(makeJob(1), emptyPayload);
        expect(tx.job(jobId('j_2'))).toBeNull();
      });
      await Promise.all(nestedWrites);
      expect(store.pendingJobs()).toHaveLength(2);
    });
  });

  describe('effects of commands', () => {
    test('shows an effect the committed state', async () => {
      const store = open();
      let seenJob: unknown = null;
      await store.write(tx => {
        tx.insertJob(makeJob(1), emptyPayload);
        tx.afterCommit(() => {
          seenJob = store.job(jobId('j_1'));
        });
      });
      expect(seenJob).toEqual(makeJob(1));
    });

    test('runs the other effects and answers when one effect throws', async () => {
      const store = open();
      const effects: string[] = [];
      const answer = store.write(tx => {
        tx.afterCommit(() => {
          throw new Error('no');
        });
        tx.afterCommit(() => effects.push('second'));
        return 'done';
      });
      expect(await answer).toBe('done');
      expect(effects).toEqual(['second']);
    });
  });

  describe('closing the store', () => {
    test('completes and answers queued writes, effects included', async () => {
      const store = open();
      let hasEffectRun = false;
      const written = store.write(tx => {
        tx.insertJob(makeJob(1), emptyPayload);
        tx.afterCommit(() => {
          hasEffectRun = true;
        });
        return tx.pendingJobs().length;
      });
      await store.close();
      expect(await written).toBe(1);
      expect(hasEffectRun).toBe(true);
    });

    test('refuses every write after closing', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await store.close();
      let hasRun = false;
      const lateWrite = store.write(() => {
        hasRun = true;
      });
      await expect(lateWrite).rejects.toThrow('the store is closed');
      expect(hasRun).toBe(false);
    });

    test('allows a store to be closed twice', async () => {
      const store = open();
      await store.close();
      await expect(store.close()).resolves.toBeUndefined();
    });
  });
}
