// Rows in memory must equal the rows in the file after any writes and rollbacks.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Job, JobPayload, Tx } from '../../../main/orchestrator/ports/index.ts';
import { createJobRows } from '../../../main/store/rows/job-rows.ts';
import { openSqliteStore, type SqliteStore } from '../../../main/store/sqlite-store.ts';
import { createWorkerRows } from '../../../main/store/rows/worker-rows.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { asEnded, asLive, at, emptyPayload, makeJob, makeWorker, quietDeps, workerId } from './builders.ts';

const workers = ['w_1', 'w_2'].map(workerId);
const orders = [1, 2, 3];
const hashes = ['hash 0', 'hash 1', 'hash 2'];

const payloadOf = (order: number): JobPayload => ({
  config: { order },
  dataloader: order === 1 ? null : [{ id: 'pictures' }],
  files: order === 3 ? { 'lycoris.json': '{}' } : {},
});

// Applies this change to a job if its status allows the change. `advance` inserts the job, or moves it to its next status.
function changeJob(tx: Tx, order: number, worker: number, what: string): void {
  const id = makeJob(order).id;
  const assignedWorker = workers[worker] ?? workerId('w_1');
  const job = tx.job(id);
  if (job === null) {
    if (what === 'advance') tx.insertJob(makeJob(order), payloadOf(order));
    return;
  }
  if (what === 'progress') tx.setProgress(id, { step: order, total_steps: 10 });
  if (what === 'late' && job.attempt !== null)
    tx.setLateResult(job.attempt.id, { at: at(5), status: 'failed', exitCode: 1 });
  if (what === 'remove' && 'endedAt' in job) tx.removeJob(id);
  const next = what === 'advance' ? nextState(tx, job, assignedWorker) : null;
  if (next !== null) tx.replaceJob(job, next);
}

function nextState(tx: Tx, job: Job, worker: (typeof workers)[number]): Job | null {
  if (job.status === 'pending')
    return tx.liveJobOf(worker) === null ? asLive(job, 'dispatched', { workerId: worker }) : null;
  if (job.status === 'dispatched') return asLive(job, 'running', { startedAt: at(3) });
  return 'endedAt' in job ? null : asEnded(job, 'completed');
}

const newWorkerId = workerId('w_3');

function changeWorker(tx: Tx, n: number, what: string): void {
  if (what === 'insert worker' && tx.worker(newWorkerId) === null)
    tx.insertWorker(makeWorker({ id: newWorkerId, name: newWorkerId, createdAt: at(-1) }), 'hash of another');
  const [id] = workers.slice(n);
  const worker = id === undefined ? null : tx.worker(id);
  if (worker === null) return;
  if (what === 'update') tx.updateWorker({ ...worker, served: !worker.served });
  if (what === 'rotate') tx.setTokenHash(worker.id, 'hash 2', tx.workerByTokenHash('hash 2') === null);
  if (what === 'drop') tx.dropOldToken(worker.id);
  if (what === 'remove worker' && tx.liveJobOf(worker.id) === null) tx.removeWorker(worker.id);
}

const Step = fc.record({
  order: fc.constantFrom(...orders),
  worker: fc.nat({ max: 1 }),
  what: fc.constantFrom(
    'advance',
    'advance',
    'advance',
    'progress',
    'late',
    'remove',
    'update',
    'rotate',
    'drop',
    'remove worker',
    'insert worker',
  ),
});
const Command = fc.record({
  steps: fc.array(Step, { minLength: 1, maxLength: 4 }),
  isRolledBack: fc.boolean(),
});

const rollback = new Error('the command is rolled back');

async function run(
  store: SqliteStore,
  { steps, isRolledBack }: typeof Command extends fc.Arbitrary<infer C> ? C : never,
) {
  const answer = store.write(tx => {
    for (const { order, worker, what } of steps) {
      changeJob(tx, order, worker, what);
      // A token belongs to one worker, so do not rotate to a token that another worker has.
      if (what !== 'rotate' || tx.workerByTokenHash('hash 2') === null) changeWorker(tx, worker, what);
      readAll(tx);
    }
    if (isRolledBack) throw rollback;
  });
  await answer.catch((cause: unknown) => expect(cause).toBe(rollback));
}

type Reader = Pick<Tx, 'job' | 'payload' | 'liveJobOf' | 'worker' | 'workers' | 'workerByTokenHash'>;

const readAll = (read: Reader) => ({
  jobs: orders.map(order => read.job(makeJob(order).id)),
  payloads: orders.map(order => read.payload(makeJob(order).id)),
  liveJobs: workers.map(read.liveJobOf),
  workers: workers.map(read.worker),
  everyone: read.workers(),
  owners: hashes.map(read.workerByTokenHash),
});

test('returns the same rows from memory as from the file after any commits and rollbacks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(Command, { minLength: 1, maxLength: 3 }), { maxLength: 12 }),
      async turns => {
        const file = join(openFolder(), 'trainyard.db');
        const store = openSqliteStore(file, quietDeps());
        const other = new Database(file, { readonly: true });
        try {
          await store.write(tx =>
            workers.forEach((id, n) => tx.insertWorker(makeWorker({ id, name: id }), hashes[n] ?? '')),
          );
          for (const concurrentCommands of turns) {
            await Promise.all(concurrentCommands.map(command => run(store, command)));
            const stored = { ...createJobRows(other), ...createWorkerRows(other) };
            expect(readAll(store)).toEqual(readAll(stored));
            expect(await store.write(tx => tx.nextJobOrder())).toBe(stored.nextJobOrder());
          }
        } finally {
          other.close();
          await store.close();
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('returns the same job object until the job changes', async () => {
  const store = openSqliteStore(':memory:', quietDeps());
  onTestFinished(() => store.close());
  const job = makeJob(1);
  await store.write(tx => tx.insertJob(job, emptyPayload));
  const first = store.job(job.id);
  expect(store.job(job.id)).toBe(first);
  await store.write(tx => tx.setProgress(job.id, { step: 4, total_steps: 10 }));
  expect(store.job(job.id)?.progress).toMatchObject({ step: 4 });
});

test('neither writes nor rereads a worker that has not changed', async () => {
  const store = openSqliteStore(':memory:', quietDeps());
  onTestFinished(() => store.close());
  const worker = makeWorker({ labels: { team: 'nlp' }, served: true });
  await store.write(tx => tx.insertWorker(worker, 'hash'));
  const cachedWorker = store.worker(worker.id);
  await store.write(tx => tx.updateWorker({ ...worker, labels: { team: 'nlp' } }));
  expect(store.worker(worker.id)).toBe(cachedWorker);
  await store.write(tx => tx.updateWorker({ ...worker, strikes: [makeJob(1).id] }));
  expect(store.worker(worker.id)).toEqual({ ...worker, strikes: ['j_1'] });
});

test('drops an old token even if the worker was read before', async () => {
  const store = openSqliteStore(':memory:', quietDeps());
  onTestFinished(() => store.close());
  const { id } = makeWorker();
  await store.write(tx => tx.insertWorker(makeWorker(), 'hash'));
  const drop = (): Promise<boolean> => store.write(tx => tx.dropOldToken(id));
  expect(await drop()).toBe(false);
  await store.write(tx => tx.setTokenHash(id, 'hash 2', true));
  const rolledBackDrop = store.write(tx => {
    tx.dropOldToken(id);
    throw rollback;
  });
  await expect(rolledBackDrop).rejects.toBe(rollback);
  expect(store.workerByTokenHash('hash')?.id).toBe(id);
  expect(await drop()).toBe(true);
  expect(store.workerByTokenHash('hash')).toBe(null);
  await expect(
    store.write(tx => {
      tx.setTokenHash(id, 'hash 3', true);
      tx.setTokenHash(id, 'hash 4', false);
      tx.dropOldToken(id);
      throw rollback;
    }),
  ).rejects.toBe(rollback);
  expect(await drop()).toBe(false);
});

test('returns current jobs when more jobs exist than fit into the cache', async () => {
  const store = openSqliteStore(':memory:', quietDeps());
  onTestFinished(() => store.close());
  const jobs = Array.from({ length: 7_600 }, (_, n) => makeJob(n + 1));
  await store.write(tx => {
    for (const job of jobs) tx.insertJob(job, emptyPayload);
  });
  await store.write(tx => {
    for (const job of jobs.filter(({ order }) => order % 500 === 0))
      tx.setProgress(job.id, { step: job.order, total_steps: 9_000 });
  });
  const sampled = jobs.filter(({ order }) => order % 250 === 0);
  expect(sampled.map(({ id }) => store.job(id)?.progress?.step)).toEqual(
    sampled.map(({ order }) => (order % 500 === 0 ? order : undefined)),
  );
});
