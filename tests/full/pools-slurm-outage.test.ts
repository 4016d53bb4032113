/** An outage of Slurm's controller must neither change the state of launches nor delay the heartbeats of workers. */
import http from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { PoolId } from '../../protocol/ids.ts';
import { poolsApi } from '../../protocol/pools-api.ts';
import { createLightWorker, type LightWorker } from '../support/light-worker.ts';
import { createShortcuts, valueOf } from '../support/server.ts';
import { type SlurmFleet, startSlurmFleet } from '../support/slurm-fleet.ts';
import { type SlurmLab, startSlurmLab } from '../support/slurm-lab.ts';

let lab: SlurmLab;

beforeAll(async () => {
  lab = await startSlurmLab();
}, 30_000);

afterAll(() => lab.stop(), 60_000);

const workerCount = 50;
const heartbeatIntervalMs = 1_000;

/** Connects workers that run no job. */
async function connectWorkers({ server, client }: SlurmFleet): Promise<readonly LightWorker[]> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: workerCount });
  const { createWorker } = createShortcuts(client);
  const workers: LightWorker[] = [];
  onTestFinished(() => {
    for (const worker of workers) worker.cut();
    agent.destroy();
  });
  for (let n = 0; n < workerCount; n += 1) {
    const credentials = await createWorker({ name: `light-${n}` });
    const worker = createLightWorker({ url: server.url, ...credentials, agent });
    workers.push(worker);
    await worker.register();
    await worker.openStream();
  }
  return workers;
}

/** Sends heartbeats of all workers for a while, spread over each second. Resolves with their durations in ms, sorted. */
async function sendHeartbeats(workers: readonly LightWorker[], forMs: number): Promise<readonly number[]> {
  const times: number[] = [];
  const until = performance.now() + forMs;
  const sendNext = async (worker: LightWorker, index: number): Promise<void> => {
    await wait((index / workers.length) * heartbeatIntervalMs);
    while (performance.now() < until) {
      const startedAt = performance.now();
      const { status } = await worker.beat();
      times.push(performance.now() - startedAt);
      expect(status).toBe(200);
      await wait(heartbeatIntervalMs);
    }
  };
  await Promise.all(workers.map(sendNext));
  return times.toSorted((a, b) => a - b);
}

const p99 = (times: readonly number[]): string => (times[Math.floor(times.length * 0.99)] ?? 0).toFixed(1);

/** Starts two launches, each for one job. The first one runs, and the second one waits in Slurm. */
async function startLaunches(fleet: SlurmFleet) {
  const { submit } = createShortcuts(fleet.client);
  const pools: PoolId[] = [];
  for (const partition of ['gpu', 'down'] as const) {
    pools.push(
      await fleet.createPool(partition, {
        partition,
        labels: { zone: partition },
        wall_time_s: 3_600,
        idle_s: 3_600,
      }),
    );
    await submit({
      worker_labels: { zone: partition },
      config: {
        epochs: 900,
        batch_size: 64,
        learning_rate: 0.05,
        final_learning_rate: 0.001,
        hidden: 64,
        seed: 7,
        checkpoint_every: 100_000,
      },
    });
  }
  const states = async () => {
    const launches = await Promise.all(pools.map(id => fleet.launches(id)));
    return launches.flat().map(({ state, engine_id: id }) => `${state} ${id}`);
  };
  await fleet.until(
    'a running and a waiting launch',
    async () => {
      const [running = '', waiting = '', ...others] = await states();
      const isReady = running.startsWith('joined') && /^waiting \d/.test(waiting) && others.length === 0;
      return isReady ? true : null;
    },
    60_000,
  );
  return { pools, states };
}

const allocations = async (): Promise<readonly string[]> => {
  const names = await lab.slurm('squeue', '--me', '-h', '-t', 'all', '-o', '%j %i');
  return names
    .split('\n')
    .filter(line => line.startsWith('trainyard-'))
    .toSorted();
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test.each<readonly [string, number, (controllerPid: number) => () => Promise<void>]>([
  [
    'is gone for 60 s',
    60_000,
    pid => {
      lab.signal('slurmctld', 'SIGTERM');
      return async () => {
        expect(isAlive(pid)).toBe(false);
        lab.start('slurmctld');
      };
    },
  ],
])(
  'keeps launches and heartbeats unchanged while the controller of Slurm %s',
  async (description, outageMs, startOutage) => {
    const oldAllocations = await allocations();
    const newAllocations = async () => (await allocations()).filter(each => !oldAllocations.includes(each));
    const fleet = await startSlurmFleet(lab);
    const { pools, states } = await startLaunches(fleet);
    const workers = await connectWorkers(fleet);
    const [before, launchedAllocations] = [await states(), await newAllocations()];
    expect(launchedAllocations).toHaveLength(2);
    const normalTimes = await sendHeartbeats(workers, 10_000);

    const recover = startOutage(lab.pid('slurmctld'));
    const outageTimes = await sendHeartbeats(workers, outageMs);
    expect((await fetch(`${fleet.server.url}/health/live`)).status).toBe(200);
    expect(await states()).toEqual(before);
    await recover();

    await fleet.until(
      'a successful list of each pool',
      async () => {
        const poolViews = await Promise.all(pools.map(id => fleet.pool(id)));
        return poolViews.every(({ unreachable }) => unreachable === null) ? true : null;
      },
      90_000,
    );
    // Wait for several more lists. After three lists without a launch, the server would end it and could order another one.
    await sendHeartbeats(workers, 20_000);
    expect(await states()).toEqual(before);
    expect(await vi.waitFor(newAllocations, { timeout: 20_000 })).toEqual(launchedAllocations);
    process.stdout.write(
      `The controller ${description}: heartbeat p99 of ${workerCount} workers ${p99(normalTimes)} ms before, ${p99(outageTimes)} ms during\n`,
    );
    for (const id of pools) {
      const body = { reason: 'The test is over', end_launches: true };
      valueOf(await fleet.client.call(poolsApi.pause, { params: { id }, body }));
    }
    await fleet.until(
      'the end of both launches',
      async () => ((await lab.slurm('squeue', '--me', '-h')) === '' ? true : null),
      90_000,
    );
  },
  300_000,
);
