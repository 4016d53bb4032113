import { describe, expect, test } from 'vitest';
import { UpdateId } from '../../../protocol/worker-update.ts';
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

const update: NonNullable<Worker['update']> = {
  id: UpdateId.parse('u_1'),
  request: UpdateId.parse('u_0'),
  atOnce: 2,
  when: 'idle',
  by: 'größe “ops”',
  state: 'failed',
  since: at(7),
  startedAt: at(6),
  target: { version: '0.2.0', program: 'trainyard-worker.mjs', sha256: 'ab'.repeat(32) },
  reason: 'the new program ends with “exit 9”\u2028',
};

const workerVariants: readonly [string, Partial<Worker>][] = [
  ['that never registered', {}],
  ['of the ephemeral type', { type: 'ephemeral' }],
  [
    'with names and labels of any script',
    { name: '火車 🚂 "rig" \' ; --', labels: { größe: 'ﬁne\u2028', '': '' } },
  ],
  ['with a fully described agent', { agent, lastContactAt: at(4) }],
  ['with an agent of unknown capabilities', { agent: unknownAgent }],
  [
    'with a drain and its reason',
    { drain: { reason: 'new “disk”', by: 'ada', since: at(5), deadlineMs: null } },
  ],
  [
    'with a drain without a reason',
    { drain: { reason: null, by: 'ada', since: at(5), deadlineMs: 1_500.5 } },
  ],
  ['that disconnected', { gone: 'goodbye', lastContactAt: at(4) }],
  ['that is silent', { gone: 'silent' }],
  ['that has run a job', { served: true }],
  ['on which jobs failed to start', { strikes: [jobId('j_2'), jobId('j_1')] }],
  ['whose update failed', { update }],
  ['whose update waits', { update: { ...update, state: 'queued', startedAt: null, reason: null } }],
  [
    'in quarantine',
    {
      strikes: ['j_1', 'j_2', 'j_3'].map(jobId),
      quarantine: { reason: 'no “python” on größe\u2028', since: at(6) },
    },
  ],
];

export function describeWorkers(open: OpenStore): void {
  describe('workers', () => {
    test.each(workerVariants)('stores a worker %s unchanged', async (_what, changes) => {
      const store = open();
      const worker = makeWorker(changes);
      await store.write(tx => tx.insertWorker(worker, 'hash'));
      expect(store.worker(worker.id)).toEqual(worker);
      expect(store.workers()).toEqual([worker]);
      expect(store.workerByTokenHash('hash')).toEqual(worker);
    });

    test.each(workerVariants)(
      'replaces a worker by a worker %s, and keeps its token',
      async (_what, changes) => {
        const store = open();
        const before = makeWorker({
          agent: unknownAgent,
          drain: { reason: 'old', by: 'eve', since: at(1), deadlineMs: 7 },
          strikes: [jobId('j_9')],
          quarantine: { reason: 'old', since: at(1) },
          lastContactAt: at(1),
          gone: 'silent',
          served: true,
          update: { ...update, id: UpdateId.parse('u_9') },
        });
        const after = makeWorker({ ...changes, createdAt: before.createdAt });
        await store.write(tx => {
          tx.insertWorker(before, 'hash');
          tx.updateWorker(after);
        });
        expect(store.worker(before.id)).toEqual(after);
        expect(store.workerByTokenHash('hash')).toEqual(after);
      },
    );

    test('returns pages of workers in the order of their creation', async () => {
      const store = open();
      await putWorkers(store, 'w_3', 'w_1', 'w_2', 'w_4');
      const page = (after: string | null, limit: number) =>
        store.workersAfter(after === null ? null : workerId(after), limit).map(({ id }) => id);
      expect(page(null, 2)).toEqual(['w_3', 'w_1']);
      expect(page('w_1', 2)).toEqual(['w_2', 'w_4']);
      expect(page('w_4', 2)).toEqual([]);
    });

    test('omits a removed worker from pages, and still accepts its id as a cursor', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2', 'w_3');
      await store.write(tx => tx.removeWorker(workerId('w_2')));
      expect(store.workersAfter(null, 5).map(({ id }) => id)).toEqual(['w_1', 'w_3']);
      expect(store.workersAfter(workerId('w_2'), 5).map(({ id }) => id)).toEqual(['w_3']);
    });

    test('returns an empty page for a cursor that never existed', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      expect(store.workersAfter(workerId('w_9'), 5)).toEqual([]);
    });

    test('returns null for an unknown worker', () => {
      const store = open();
      expect([
        store.worker(workerId('w_9')),
        store.workerByTokenHash('x'),
        store.liveJobOf(workerId('w_9')),
      ]).toEqual([null, null, null]);
      expect(store.workers()).toEqual([]);
    });

    test('lists workers by age, then by id', async () => {
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
    ])('refuses a worker with an existing %s', async (_what, id, hash) => {
      const store = open();
      await store.write(tx => tx.insertWorker(makeWorker(), 'hash'));
      await expect(
        store.write(tx => tx.insertWorker(makeWorker({ id: workerId(id), name: 'other' }), hash)),
      ).rejects.toThrow('UNIQUE');
      expect(store.workers()).toEqual([makeWorker()]);
    });

    test('does not find a worker by its old token', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'new', false));
      expect(store.workerByTokenHash('hash-of-w_1')).toBeNull();
      expect(store.workerByTokenHash('new')?.id).toBe('w_1');
      expect(store.workerByTokenHash('hash-of-w_2')?.id).toBe('w_2');
      expect(await store.write(tx => tx.dropOldToken(workerId('w_1')))).toBe(false);
    });

    test('finds a worker by its old and its new token until the old token is dropped', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      const findWorkers = (...hashes: readonly string[]) =>
        hashes.map(hash => store.workerByTokenHash(hash)?.id ?? null);
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'new', true));
      expect(findWorkers('hash-of-w_1', 'new', 'hash-of-w_2')).toEqual(['w_1', 'w_1', 'w_2']);
      expect(store.workers()).toHaveLength(2);
      expect(await store.write(tx => tx.dropOldToken(workerId('w_1')))).toBe(true);
      expect(findWorkers('hash-of-w_1', 'new', 'hash-of-w_2')).toEqual([null, 'w_1', 'w_2']);
      expect(await store.write(tx => tx.dropOldToken(workerId('w_1')))).toBe(false);
    });

    test("keeps the agent's token when another new token replaces the pending token", async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      const findWorkers = (...hashes: readonly string[]) =>
        hashes.map(hash => store.workerByTokenHash(hash)?.id ?? null);
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'second', true));
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'third', true));
      expect(findWorkers('hash-of-w_1', 'second', 'third')).toEqual(['w_1', null, 'w_1']);
      await store.write(tx => tx.setTokenHash(workerId('w_1'), 'fourth', false));
      expect(findWorkers('hash-of-w_1', 'second', 'third', 'fourth')).toEqual([null, null, null, 'w_1']);
    });
  });

  describe('removed workers', () => {
    test('removes a worker from every list, and invalidates its token', async () => {
      const store = open();
      await putWorkers(store, 'w_1', 'w_2');
      await store.write(tx => tx.removeWorker(workerId('w_1')));
      expect(store.worker(workerId('w_1'))).toBeNull();
      expect(store.workers().map(({ id }) => id)).toEqual(['w_2']);
      expect(store.workerByTokenHash('hash-of-w_1')).toBeNull();
    });

    test('invalidates both tokens of a removed worker', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await store.write(tx => {
        tx.setTokenHash(workerId('w_1'), 'new', true);
        tx.removeWorker(workerId('w_1'));
      });
      expect([store.workerByTokenHash('hash-of-w_1'), store.workerByTokenHash('new')]).toEqual([null, null]);
    });

    test('ignores updates and new tokens of a removed worker', async () => {
      const store = open();
      await putWorkers(store, 'w_1');
      await store.write(tx => {
        tx.removeWorker(workerId('w_1'));
        tx.updateWorker(makeWorker({ name: 'again' }));
        tx.setTokenHash(workerId('w_1'), 'new', false);
      });
      expect([store.worker(workerId('w_1')), store.workerByTokenHash('new')]).toEqual([null, null]);
    });

    test('keeps the name of a removed worker for its jobs', async () => {
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

    test('accepts the token hash of a removed worker for another worker', async () => {
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
