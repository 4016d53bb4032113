import { describe, expect, test } from 'vitest';
import type { AgentFacts } from '../../../main/orchestrator/model.ts';
import type { Worker } from '../../../main/orchestrator/ports/index.ts';
import {
  asEnded,
  asLive,
  at,
  jobId,
  makeJob,
  makeWorker,
  put,
  putWorkers,
  workerId,
  type OpenStore,
} from './builders.ts';
import { everyJob } from '../../support/every-job.ts';

const agent: AgentFacts = {
  capabilities: {
    gpuCount: 2,
    gpuName: 'NVIDIA RTX™ 6000 “Ada”',
    gpuVramGb: 47.5,
    accelerator: 'cuda',
    driver: '550.54',
    gpus: [
      { index: 0, name: 'A', vram_gb: 48 },
      { index: 1, name: 'B', vram_gb: 47.5 },
    ],
  },
  host: 'größe.local',
  persistent: false,
  labels: { disk: 'nvme' },
  protocol: 2,
  instanceId: 'i-1',
  startId: 's-1',
  registrationNo: 7,
  address: '2001:db8::7',
  agentVersion: '0.1.0',
  gpuTroubles: [{ gpu: 1, kind: 'errors', detail: '3 errors since the last reset' }],
  allowedConfigKeys: null,
  trainers: null,
  outputs: null,
  datasets: null,
  registeredAt: at(3),
};

const unknownAgent: AgentFacts = {
  capabilities: { gpuCount: 0, gpuName: null, gpuVramGb: null, accelerator: null, driver: null, gpus: [] },
  host: null,
  persistent: null,
  labels: {},
  protocol: 1,
  instanceId: null,
  startId: null,
  registrationNo: null,
  address: null,
  agentVersion: null,
  gpuTroubles: [],
  allowedConfigKeys: null,
  trainers: null,
  outputs: null,
  datasets: null,
  registeredAt: at(3),
};

const shapes: readonly [string, Partial<Worker>][] = [
  ['that never came', {}],
  ['of the other type', { type: 'ephemeral' }],
  [
    'with names and labels of any script',
    { name: '火車 🚂 "rig" \' ; --', labels: { größe: 'ﬁne\u2028', '': '' } },
  ],
  ['with an agent that said everything', { agent, lastContactAt: at(4) }],
  ['with an agent that said nothing', { agent: unknownAgent }],
  [
    'that is drained for a reason',
    { drain: { reason: 'new “disk”', by: 'ada', since: at(5), deadlineMs: null } },
  ],
  ['that is drained without one', { drain: { reason: null, by: 'ada', since: at(5), deadlineMs: 1_500.5 } }],
  ['that said goodbye', { gone: 'goodbye', lastContactAt: at(4) }],
  ['that fell silent', { gone: 'silent' }],
  ['that has served', { served: true }],
  ['that some jobs could not start on', { strikes: [jobId('j_2'), jobId('j_1')] }],
  [
    'that is in quarantine',
    {
      strikes: ['j_1', 'j_2', 'j_3'].map(jobId),
      quarantine: { reason: 'no “python” on größe\u2028', since: at(6) },
    },
  ],
];

export function describeWorkers(open: OpenStore): void {
  describe('a worker', () => {
    test.each(shapes)('%s comes back as it was put in', async (_what, changes) => {
      const store = open();
      const worker = makeWorker(changes);
      await store.write(tx => tx.insertWorker(worker, 'hash'));
      expect(store.worker(worker.id)).toEqual(worker);
      expect(store.workers()).toEqual([worker]);
      expect(store.workerByTokenHash('hash')).toEqual(worker);
    });

    test.each(shapes)('%s replaces what was there, and leaves its token alone', async (_what, changes) => {
      const store = open();
      const before = makeWorker({
        agent: unknownAgent,
        drain: { reason: 'old', by: 'eve', since: at(1), deadlineMs: 7 },
        strikes: [jobId('j_9')],
        quarantine: { reason: 'old', since: at(1) },
        lastContactAt: at(1),
        gone: 'silent',
        served: true,
      });
      const after = makeWorker({ ...changes, createdAt: before.createdAt });
      await store.write(tx => {
        tx.insertWorker(before, 'hash');
        tx.updateWorker(after);
      });
      expect(store.worker(before.id)).toEqual(after);
      expect(store.workerByTokenHash('hash')).toEqual(after);
    });

    test('is on one page of several, in the order in which they were made', async () => {
      const store = open();
      await putWorkers(store, 'w_3', 'w_1', 'w_2', 'w_4');
      const page = (after: string | null, limit: number) =>
        store.workersAfter(after === null ? null : workerId(after), limit).map(({ id }) => id);
      expect(page(null, 2)).toEqual(['w_3', 'w_1']);
      expect(page('w_1', 2)).toEqual(['w_2', 'w_4']);
      expect(page('w_4', 2)).toEqual([]);
    });

    test('that is removed leaves its pages, and its place to go on from stays', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2', 'w_3');
      await store.write(tx => tx.removeWorker(workerId('w_2')));
      expect(store.workersAfter(null, 5).map(({ id }) => id)).toEqual(['w_1', 'w_3']);
      expect(store.workersAfter(workerId('w_2'), 5).map(({ id }) => id)).toEqual(['w_3']);
    });

    test('that there never was is no place to go on from: nothing comes after it', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      expect(store.workersAfter(workerId('w_9'), 5)).toEqual([]);
    });

    test('that nobody knows is null', () => {
      const store = open();
      expect([
        store.worker(workerId('w_9')),
        store.workerByTokenHash('x'),
        store.liveJobOf(workerId('w_9')),
      ]).toEqual([null, null, null]);
      expect(store.workers()).toEqual([]);
    });

    test('is listed by age, then by id', async () => {
      const store = open();
      await store.write(tx => {
        for (const [id, seconds] of [['w_c', 1] as const, ['w_a', 2] as const, ['w_b', 1] as const]) {
          tx.insertWorker(makeWorker({ id: workerId(id), createdAt: at(seconds) }), id);
        }
      });
      expect(store.workers().map(({ id }) => id)).toEqual(['w_b', 'w_c', 'w_a']);
    });

    test.each([
      ['id', 'w_1', 'other'],
      ['token', 'w_2', 'hash'],
    ])('with a %s that is taken is not stored', async (_what, id, hash) => {
      const store = open();
      await store.write(tx => tx.insertWorker(makeWorker(), 'hash'));
      await expect(
        store.write(tx => tx.insertWorker(makeWorker({ id: workerId(id), name: 'other' }), hash)),
      ).rejects.toThrow('UNIQUE');
      expect(store.workers()).toEqual([makeWorker()]);
    });

    test('that gets a new token is not found by the old one', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'new', false));
      expect(store.workerByTokenHash('hash-of-w_1')).toBeNull();
      expect(store.workerByTokenHash('new')?.id).toBe('w_1');
      expect(store.workerByTokenHash('hash-of-w_2')?.id).toBe('w_2');
      expect(await store.write(tx => tx.dropOldToken(workerId('w_1')))).toBe(false);
    });

    test('may keep the token so far beside a new one, until that is dropped', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const opens = (...hashes: readonly string[]) =>
        hashes.map(hash => store.workerByTokenHash(hash)?.id ?? null);
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'new', true));
      expect(opens('hash-of-w_1', 'new', 'hash-of-w_2')).toEqual(['w_1', 'w_1', 'w_2']);
      expect(store.workers()).toHaveLength(2);
      expect(await store.write(tx => tx.dropOldToken(workerId('w_1')))).toBe(true);
      expect(opens('hash-of-w_1', 'new', 'hash-of-w_2')).toEqual([null, 'w_1', 'w_2']);
      expect(await store.write(tx => tx.dropOldToken(workerId('w_1')))).toBe(false);
    });

    test('keeps the token that its agent has when it gets another new one', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const opens = (...hashes: readonly string[]) =>
        hashes.map(hash => store.workerByTokenHash(hash)?.id ?? null);
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'second', true));
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'third', true));
      expect(opens('hash-of-w_1', 'second', 'third')).toEqual(['w_1', null, 'w_1']);
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'fourth', false));
      expect(opens('hash-of-w_1', 'second', 'third', 'fourth')).toEqual([null, null, null, 'w_1']);
    });
  });

  describe('a removed worker', () => {
    test('is gone from every list, and its token is dead', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      await store.write(tx => tx.removeWorker(workerId('w_1')));
      expect(store.worker(workerId('w_1'))).toBeNull();
      expect(store.workers().map(({ id }) => id)).toEqual(['w_2']);
      expect(store.workerByTokenHash('hash-of-w_1')).toBeNull();
    });

    test('takes both its tokens along', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await store.write(tx => {
        tx.setTokenHash(workerId('w_1'), 'new', true);
        tx.removeWorker(workerId('w_1'));
      });
      expect([store.workerByTokenHash('hash-of-w_1'), store.workerByTokenHash('new')]).toEqual([null, null]);
    });

    test('does not come back by a late change or a new token', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await store.write(tx => {
        tx.removeWorker(workerId('w_1'));
        tx.updateWorker(makeWorker({ name: 'again' }));
        tx.setTokenHash(workerId('w_1'), 'new', false);
      });
      expect([store.worker(workerId('w_1')), store.workerByTokenHash('new')]).toEqual([null, null]);
    });

    test('is still named by the jobs it had', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const job = makeJob(1);
      const ended = asEnded(asLive(job, 'running'), 'completed');
      await put(store, job, asLive(job, 'dispatched'), ended);
      expect(store.deletedWorkerName(workerId('w_1'))).toBeNull();
      await store.write(tx => tx.removeWorker(workerId('w_1')));
      expect(store.deletedWorkerName(workerId('w_1'))).toBe(makeWorker().name);
      expect(store.deletedWorkerName(workerId('w_none'))).toBeNull();
      expect(store.job(job.id)).toEqual(ended);
      expect(store.attempts(job.id)).toMatchObject([{ workerId: 'w_1' }]);
      expect(store.jobs({ ...everyJob, includeFinal: true, limit: 9, offset: 0 })).toEqual([ended]);
    });

    test('leaves its token hash and its job free for others', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await store.write(tx => {
        tx.removeWorker(workerId('w_1'));
        tx.insertWorker(makeWorker({ id: workerId('w_2') }), 'hash-of-w_1');
      });
      expect(store.workerByTokenHash('hash-of-w_1')?.id).toBe('w_2');
      expect(store.job(jobId('j_1'))).toBeNull();
    });
  });
}
