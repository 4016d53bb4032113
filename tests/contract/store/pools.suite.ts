import { describe, expect, test } from 'vitest';
import type { Launch, Pool, Store } from '../../../main/orchestrator/ports/index.ts';
import { jobId, at, makeWorker, type OpenStore, putWorkers, workerId } from './builders.ts';
import { LaunchId, PoolId } from '../../../protocol/ids.ts';
import { NewPool } from '../../../protocol/pool.ts';

const poolId = (id: string): PoolId => PoolId.parse(id);
const launchId = (id: string): LaunchId => LaunchId.parse(id);

function makePool(name: string, changes: Partial<Pool> = {}): Pool {
  const {
    engine,
    name: parsedName,
    ...settings
  } = NewPool.parse({ name, engine: { kind: 'slurm', login: 'me@login.example.org' } });
  return {
    id: poolId(`p_${name}`),
    name: parsedName,
    engine,
    settings,
    createdAt: at(0),
    pause: null,
    impossible: [],
    neverJoined: 0,
    backoff: null,
    ...changes,
  };
}

const makeLaunch = (id: string, changes: Partial<Launch> = {}): Launch => ({
  id: launchId(id),
  poolId: poolId('p_gpu'),
  workerId: workerId(`w_${id}`),
  jobId: null,
  isTest: false,
  nodes: 1,
  gpus: 1,
  state: 'waiting',
  outcome: null,
  detail: null,
  endReason: null,
  endAskedAt: null,
  engineId: '7',
  reason: { kind: 'resources', text: 'größe' },
  expectedStart: at(99),
  machines: [],
  orderedAt: at(1),
  submittedAt: at(1),
  acceptedAt: at(2),
  startedAt: null,
  joinedAt: null,
  endsAt: null,
  endedAt: null,
  missing: 0,
  ...changes,
});

const makeEndedLaunch = (id: string, from: number, to: number, changes: Partial<Launch> = {}): Launch =>
  makeLaunch(id, { state: 'ended', outcome: 'finished', startedAt: at(from), endedAt: at(to), ...changes });

export function describePools(open: OpenStore): void {
  const withPools = async (...launches: readonly Launch[]): Promise<Store> => {
    const store = open();
    await putWorkers(store, ...launches.map(({ workerId: id }) => id));
    await store.write(tx => {
      tx.insertPool(makePool('gpu'));
      tx.insertPool(makePool('big'));
      for (const launch of launches) tx.insertLaunch(launch);
    });
    return store;
  };

  describe('stored pools', () => {
    test('creates a fleet id of eight letters and digits once, and keeps it', async () => {
      const store = open();
      const id = store.fleetId();
      expect(id).toMatch(/^[a-z0-9]{8}$/);
      await store.write(tx => tx.insertPool(makePool('gpu')));
      expect(store.fleetId()).toBe(id);
      expect(open().fleetId()).not.toBe(id);
    });

    test('finds pools by id, and lists them in the order of their creation', async () => {
      const store = await withPools();
      expect(store.pools()).toEqual([makePool('gpu'), makePool('big')]);
      expect(store.pool(poolId('p_big'))).toEqual(makePool('big'));
      expect(store.pool(poolId('p_none'))).toBeNull();
    });

    test('stores each change of a pool without changing its position in the list', async () => {
      const store = await withPools();
      const changed = makePool('gpu', {
        name: 'small',
        pause: { reason: 'größe', by: 'ada', since: at(5) },
        impossible: [{ nodes: 1, gpus: 8, message: 'no', since: at(4) }],
        neverJoined: 2,
        backoff: { refusals: 3, until: at(60) },
      });
      await store.write(tx => tx.updatePool(changed));
      expect(store.pools().map(({ name }) => name)).toEqual(['small', 'big']);
      expect(store.pool(changed.id)).toEqual(changed);
    });

    test('refuses two pools with the same name', async () => {
      const store = await withPools();
      const sameName = makePool('gpu', { id: poolId('p_twin') });
      await expect(store.write(tx => tx.insertPool(sameName))).rejects.toThrow('UNIQUE');
      await expect(store.write(tx => tx.updatePool(makePool('big', { name: 'gpu' })))).rejects.toThrow(
        'UNIQUE',
      );
      expect(store.pools()).toHaveLength(2);
    });

    test('removes a pool together with its launches, and no other launches', async () => {
      const otherLaunch = makeLaunch('l2', { poolId: poolId('p_big') });
      const store = await withPools(makeEndedLaunch('l1', 1, 2), otherLaunch);
      await store.write(tx => tx.removePool(poolId('p_gpu')));
      expect(store.pools().map(({ name }) => name)).toEqual(['big']);
      expect([store.launch(launchId('l1')), store.launch(launchId('l2'))]).toEqual([null, otherLaunch]);
    });
  });

  describe('stored launches', () => {
    test('finds a launch by its id and by its worker, unchanged', async () => {
      const launch = makeLaunch('l1', { jobId: jobId('j_1'), machines: ['n1', 'n2'] });
      const store = await withPools(launch);
      expect(store.launch(launch.id)).toEqual(launch);
      expect(store.launchOfWorker(launch.workerId)).toEqual(launch);
      expect(store.launch(launchId('l9'))).toBeNull();
      expect(store.launchOfWorker(workerId('w_9'))).toBeNull();
    });

    test('lists launches that have not ended, oldest order first', async () => {
      const store = await withPools(
        makeLaunch('l3'),
        makeEndedLaunch('l2', 1, 2),
        makeLaunch('l1', { poolId: poolId('p_big') }),
      );
      const openIds = () => store.openLaunches().map(({ id }) => id);
      expect(openIds()).toEqual(['l3', 'l1']);
      const endedLaunch = makeEndedLaunch('l3', 5, 6);
      await store.write(tx => tx.updateLaunch(endedLaunch));
      expect(openIds()).toEqual(['l1']);
      expect(store.launch(endedLaunch.id)).toEqual(endedLaunch);
    });

    test('lists the launches of a pool newest first, up to a limit', async () => {
      const store = await withPools(
        makeLaunch('l1'),
        makeLaunch('l2', { poolId: poolId('p_big') }),
        makeEndedLaunch('l3', 1, 2),
        makeLaunch('l4'),
      );
      const ids = (limit: number) => store.launchesOf(poolId('p_gpu'), limit).map(({ id }) => id);
      expect(ids(9)).toEqual(['l4', 'l3', 'l1']);
      expect(ids(2)).toEqual(['l4', 'l3']);
      expect(store.launchesOf(poolId('p_none'), 9)).toEqual([]);
    });

    test('refuses a launch with an unknown pool or worker, an existing id, or a worker that has a launch', async () => {
      const store = await withPools(makeLaunch('l1'));
      const insertLaunch = (launch: Launch) => store.write(tx => tx.insertLaunch(launch));
      await expect(insertLaunch(makeLaunch('l2'))).rejects.toThrow('FOREIGN');
      await expect(insertLaunch(makeLaunch('l2', { workerId: workerId('w_l1') }))).rejects.toThrow('UNIQUE');
      await store.write(tx => tx.insertWorker(makeWorker({ id: workerId('w_l2') }), 'hash-2'));
      await expect(insertLaunch(makeLaunch('l2', { poolId: poolId('p_none') }))).rejects.toThrow('FOREIGN');
      await expect(insertLaunch(makeLaunch('l1', { workerId: workerId('w_l2') }))).rejects.toThrow('UNIQUE');
    });

    test('keeps a launch when its worker is deleted', async () => {
      const store = await withPools(makeLaunch('l1'));
      await store.write(tx => tx.removeWorker(workerId('w_l1')));
      expect(store.launchOfWorker(workerId('w_l1'))).toEqual(makeLaunch('l1'));
    });

    test('trims launches that ended before a time, but none that has not ended', async () => {
      const store = await withPools(
        makeEndedLaunch('l1', 1, 9),
        makeEndedLaunch('l2', 1, 10),
        makeLaunch('l3'),
      );
      await store.write(tx => tx.trimLaunches(at(10)));
      expect(store.launchesOf(poolId('p_gpu'), 9).map(({ id }) => id)).toEqual(['l3', 'l2']);
    });

    test('drops the changes of a launch when the write fails', async () => {
      const store = await withPools(makeLaunch('l1'));
      const failing = store.write(tx => {
        tx.updateLaunch(makeEndedLaunch('l1', 1, 2));
        throw new Error('too late');
      });
      await expect(failing).rejects.toThrow('too late');
      expect(store.openLaunches()).toEqual([makeLaunch('l1')]);
    });
  });

  describe('GPU time of pools', () => {
    const gpuSeconds = (store: Store, from: number, to: number) =>
      Object.fromEntries([...store.gpuMsOfPools(at(from), at(to))].map(([id, ms]) => [id, ms / 1_000]));

    test('counts all GPUs of all machines from start to end of a launch', async () => {
      const store = await withPools(
        makeEndedLaunch('l1', 10, 20, { nodes: 2, gpus: 4 }),
        makeEndedLaunch('l2', 10, 11),
        makeEndedLaunch('l3', 10, 20, { gpus: 0 }),
        makeEndedLaunch('l4', 10, 15, { poolId: poolId('p_big'), gpus: 8 }),
      );
      expect(gpuSeconds(store, 0, 100)).toEqual({ p_gpu: 81, p_big: 40 });
    });

    test('counts launches that never joined, and running launches until now', async () => {
      const store = await withPools(
        makeEndedLaunch('l1', 10, 20, { outcome: 'never_joined' }),
        makeLaunch('l2', { state: 'running', startedAt: at(30), gpus: 2 }),
      );
      expect(gpuSeconds(store, 0, 40)).toEqual({ p_gpu: 30 });
      await store.write(tx => tx.updateLaunch(makeEndedLaunch('l2', 30, 31, { gpus: 2 })));
      expect(gpuSeconds(store, 0, 40)).toEqual({ p_gpu: 12 });
    });

    test('counts only GPU time between the two given times', async () => {
      const store = await withPools(
        makeEndedLaunch('l1', 10, 30),
        makeLaunch('l2', { state: 'running', startedAt: at(20) }),
      );
      expect(gpuSeconds(store, 25, 40)).toEqual({ p_gpu: 20 });
      expect(gpuSeconds(store, 15, 25)).toEqual({ p_gpu: 15 });
      expect(gpuSeconds(store, 30, 30)).toEqual({ p_gpu: 0 });
    });

    test('counts no GPU time for a start in the future, nor for launches that only wait', async () => {
      const store = await withPools(
        makeLaunch('l1', { state: 'running', startedAt: at(50) }),
        makeLaunch('l2', { poolId: poolId('p_big') }),
      );
      expect(gpuSeconds(store, 0, 40)).toEqual({ p_gpu: 0 });
    });
  });
}
