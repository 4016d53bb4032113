/** `trainyard server --local-worker` as real processes: the server's own machine is a worker. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { backupApi } from '../../protocol/backup-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { eventually } from '../support/notices.ts';
import {
  argvOf,
  isAlive,
  killProcessesOf,
  ownerVariable,
  processesOf,
  signal,
  untilDead,
} from '../support/own-processes.ts';
import { digitsTrainer, type Program, root, temporaryFolder, trainyard } from '../support/processes.ts';
import { reapAtEnd } from '../support/reaping.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { createTrainerRecord } from '../support/trainer-record.ts';
import { watchEvents } from '../support/watch.ts';

const testLimitMs = 60_000;

interface LogEntry {
  readonly event: string;
  readonly [field: string]: unknown;
}

/**
 * Creates a machine with a data folder, on which a test can start several servers, one after the other. All processes of
 * the machine end with the test.
 */
function openMachine() {
  const folder = temporaryFolder();
  const endReaper = reapAtEnd(folder);
  onTestFinished(() => {
    killProcessesOf(folder);
    endReaper();
  });
  const dataDir = join(folder, 'data');
  const trainers = createTrainerRecord(join(folder, 'trainers.jsonl'));
  const stub = `'${process.execPath}' '${join(root, 'tests/support/stub-trainer.ts')}'`;
  const stubTrainer = `${stub} --config {config_path} --record '${trainers.file}'`;
  const env = {
    [ownerVariable]: folder,
    XDG_CONFIG_HOME: folder,
    XDG_STATE_HOME: join(folder, 'state'),
    ADMIN_TOKEN: undefined,
  };
  return {
    folder,
    dataDir,
    env,
    trainers,
    /** A trainer whose config names this file as `until` ends when the file exists. */
    gate: join(folder, 'enough'),
    localWorker: ['--local-worker', '--local-worker-trainer', stubTrainer],
    stubTrainer,
    start: (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      startServer(dataDir, args, { ...env, ...more }),
    /** Returns the pids of running agents, without guards. */
    agents: (): readonly number[] =>
      processesOf(folder).filter(pid => / worker --config /.test(` ${argvOf(pid)} `)),
    processes: () => processesOf(folder),
  };
}

type Machine = ReturnType<typeof openMachine>;

async function startServer(
  dataDir: string,
  args: readonly string[],
  env: Record<string, string | undefined>,
) {
  const program = trainyard(['server', '--port', '0', '--data-dir', dataDir, '--json', ...args], { env });
  const [line] = await program.waitForLine(/^\{"ready":true.*/);
  const { url } = JSON.parse(line) as { readonly url: string };
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const admin = adminClient(url, token);
  const watch = await watchEvents(url, token);
  onTestFinished(() => watch.close());
  const workers = async (): Promise<readonly WorkerView[]> =>
    valueOf(await admin.call(workersApi.list, { query: {} })).workers;
  return {
    ...program,
    url,
    admin,
    watch,
    workers,
    ...createShortcuts(admin),
    /** Resolves with the worker of this machine when it is connected to this server and idle. */
    async localWorker(): Promise<WorkerView> {
      const isIdleLocalWorker = (worker: WorkerView | null): worker is WorkerView =>
        worker?.local === true && worker.status === 'idle';
      // The worker may have connected before `watch` received its first event.
      const connectedWorker = (await workers()).find(isIdleLocalWorker);
      if (connectedWorker !== undefined) return connectedWorker;
      return watch.until('an idle local worker', event =>
        event.kind === 'worker' && isIdleLocalWorker(event.worker) ? event.worker : null,
      );
    },
    job: async (id: JobId) => valueOf(await admin.call(queueApi.get, { params: { id } })),
    async end(endSignal: NodeJS.Signals) {
      watch.close();
      program.kill(endSignal);
      return program.exited;
    },
  };
}

/** Resolves with the pid of the n-th agent that the server has started. */
async function agentOf({ lines }: Program, n = 1): Promise<number> {
  const entry = await eventually(
    `start ${n} of a local agent`,
    () => entriesOf(lines).filter(({ event }) => event === 'local_worker.started')[n - 1],
  );
  return Number(entry['pid']);
}

const entriesOf = (lines: readonly string[]): readonly LogEntry[] =>
  lines.filter(line => line.startsWith('{"time"')).map(line => JSON.parse(line) as LogEntry);

/** Returns the only trainer process of the job. Throws when there were several. */
const getOnlyRun = ({ trainers }: Machine, id: JobId) => {
  const runs = trainers.runs(id);
  expect(runs).toHaveLength(1);
  return runs[0]!;
};

const startedTrainer = (machine: Machine, id: JobId): Promise<number> =>
  machine.trainers.waitFor(`a trainer of ${id}`, record => record.runs(id)[0]?.pid);

test(
  'runs jobs with a local target on the local worker, without exposing its token',
  async () => {
    const machine = openMachine();
    const server = await machine.start(machine.localWorker);
    const worker = await server.localWorker();
    expect(worker).toMatchObject({
      name: hostname(),
      worker_type: 'persistent',
      persistent: true,
      labels: {},
    });
    expect(await server.workers()).toHaveLength(1);

    const id = await server.submit({ config: { run_ms: 300 }, target: 'local' });
    expect(await server.watch.jobEnd(id)).toMatchObject({ status: 'completed', worker_id: worker.id });
    // The trainer knows no token. No argument and no log line contains the agent's token.
    expect(getOnlyRun(machine, id).lines[0]).toMatchObject({ leaks: [] });
    const secret = /\b(?:wt|ta)_[\w-]{20,}/;
    expect(machine.processes().map(argvOf).join('\n')).not.toMatch(secret);
    expect(server.lines.join('\n')).not.toMatch(secret);
    expect(readFileSync(join(machine.dataDir, 'local-worker/worker.json'), 'utf8')).not.toMatch(secret);
  },
  testLimitMs,
);

test(
  'trains the digits sample on the local worker',
  async () => {
    const machine = openMachine();
    const server = await machine.start(['--local-worker', '--local-worker-trainer', digitsTrainer]);
    const config: object = JSON.parse(
      readFileSync(join(root, 'examples/digits/configs/digits-quick.json'), 'utf8'),
    );
    const id = await server.submit({ config: { ...config, epochs: 1 }, target: 'local' });
    const job = await server.watch.jobEnd(id);
    expect(job).toMatchObject({ status: 'completed' });
    expect(job.progress?.metrics?.['accuracy']).toBeGreaterThan(0.9);
  },
  testLimitMs,
);

test(
  'leaves jobs for remote workers pending when only the local worker is idle',
  async () => {
    const machine = openMachine();
    const server = await machine.start(machine.localWorker);
    const worker = await server.localWorker();
    const remoteJob = await server.submit({ config: { run_ms: 50 }, target: 'worker' });
    const localJob = await server.submit({ config: { run_ms: 50 }, target: 'local' });
    expect(await server.watch.jobEnd(localJob)).toMatchObject({ status: 'completed', worker_id: worker.id });
    expect(await server.job(remoteJob)).toMatchObject({ status: 'pending', attempt: 0, worker_id: null });
  },
  testLimitMs,
);

describe('a server that ends while its local worker trains', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'continues the local training after %s and a restart, and completes the job once',
    async endSignal => {
      const machine = openMachine();
      const first = await machine.start(machine.localWorker);
      const worker = await first.localWorker();
      const id = await first.submit({ config: { until: machine.gate }, target: 'local' });
      const trainer = await startedTrainer(machine, id);
      await first.watch.job(id, 'running');
      const agent = await agentOf(first);
      await first.end(endSignal);
      // The agent learns only from its pipe that the server was killed.
      await untilDead(agent);
      expect(machine.agents()).toEqual([]);
      expect(isAlive(trainer)).toBe(true);

      const second = await machine.start(machine.localWorker);
      await second.waitForLine(new RegExp(`Job ${id} goes on: .*\\(pid ${trainer}\\)`));
      writeFileSync(machine.gate, '');
      expect(await second.watch.jobEnd(id)).toMatchObject({
        status: 'completed',
        attempt: 1,
        worker_id: worker.id,
      });
      expect((await second.job(id)).attempts).toMatchObject([
        { attempt: 1, outcome: 'completed', exit_code: 0 },
      ]);
      expect(getOnlyRun(machine, id).pid).toBe(trainer);
      expect(machine.agents()).toEqual([await agentOf(second)]);
      expect(await second.workers()).toMatchObject([{ id: worker.id, local: true }]);

      expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null });
      await eventually('the end of all processes', () => machine.processes().length === 0);
    },
    testLimitMs,
  );
});

test(
  'leaves no process behind when the server is killed while its local worker is idle',
  async () => {
    const machine = openMachine();
    const server = await machine.start(machine.localWorker);
    await server.localWorker();
    expect(machine.agents()).toHaveLength(1);
    await server.end('SIGKILL');
    await eventually('the end of all processes', () => machine.processes().length === 0);
  },
  testLimitMs,
);

test(
  'continues the local training through a restore of the database',
  async () => {
    const machine = openMachine();
    const server = await machine.start(machine.localWorker);
    const id = await server.submit({ config: { until: machine.gate }, target: 'local' });
    const trainer = await startedTrainer(machine, id);
    await server.watch.job(id, 'running');
    const { name } = valueOf(await server.admin.call(backupApi.make, {}));
    const first = await agentOf(server);
    valueOf(
      await server.admin.call(backupApi.restore, {
        params: { name },
        body: { confirm: name },
        timeoutMs: 30_000,
      }),
    );
    const next = await agentOf(server, 2);
    await server.waitForLine(new RegExp(`Job ${id} goes on: .*\\(pid ${trainer}\\)`));
    expect(isAlive(first)).toBe(false);
    expect(machine.agents()).toEqual([next]);
    const token = readFileSync(join(machine.dataDir, 'admin-token'), 'utf8').trim();
    const watch = await watchEvents(server.url, token);
    onTestFinished(() => watch.close());
    writeFileSync(machine.gate, '');
    expect(await watch.jobEnd(id)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(getOnlyRun(machine, id).pid).toBe(trainer);
  },
  testLimitMs,
);

test(
  'restarts a killed local agent, which adopts its training',
  async () => {
    const machine = openMachine();
    const server = await machine.start(machine.localWorker);
    const id = await server.submit({ config: { until: machine.gate }, target: 'local' });
    const trainer = await startedTrainer(machine, id);
    await server.watch.job(id, 'running');
    signal(await agentOf(server), 'SIGKILL');
    const next = await agentOf(server, 2);
    await server.waitForLine(new RegExp(`Job ${id} goes on: .*\\(pid ${trainer}\\)`));
    expect(machine.agents()).toEqual([next]);
    writeFileSync(machine.gate, '');
    expect(await server.watch.jobEnd(id)).toMatchObject({ status: 'completed', attempt: 1 });
    expect(getOnlyRun(machine, id).pid).toBe(trainer);
    expect(entriesOf(server.lines).find(({ event }) => event === 'local_worker.ended')).toMatchObject({
      level: 'warn',
      signal: 'SIGKILL',
    });
  },
  testLimitMs,
);

test(
  'gives the local worker a new token after a user rotated its token',
  async () => {
    const machine = openMachine();
    const server = await machine.start(machine.localWorker);
    const worker = await server.localWorker();
    valueOf(await server.admin.call(workersApi.rotateToken, { params: { id: worker.id }, body: {} }));
    await agentOf(server, 2);
    const id = await server.submit({ config: { run_ms: 50 }, target: 'local' });
    expect(await server.watch.jobEnd(id)).toMatchObject({ status: 'completed', worker_id: worker.id });
    expect(entriesOf(server.lines).find(({ event }) => event === 'local_worker.ended')).toMatchObject({
      exit_code: 3,
    });
  },
  testLimitMs,
);

test(
  'refuses new local jobs without --local-worker, and explains why earlier local jobs are pending',
  async () => {
    const machine = openMachine();
    const firstServer = await machine.start(machine.localWorker);
    const worker = await firstServer.localWorker();
    const blocking = await firstServer.submit({ config: { until: machine.gate }, target: 'local' });
    await startedTrainer(machine, blocking);
    const waiting = await firstServer.submit({ config: { run_ms: 50 }, target: 'local' });
    const remove = { params: { id: worker.id } };
    const inUse = { failure: { problem: { code: 'worker_not_offline' } } };
    expect(await firstServer.admin.call(workersApi.remove, remove)).toMatchObject(inUse);
    // Drain the worker first, so that it does not take the pending job.
    await firstServer.admin.call(workersApi.drain, { params: { id: worker.id }, body: {} });
    await firstServer.admin.call(queueApi.cancel, { params: { id: blocking } });
    expect(await firstServer.watch.jobEnd(blocking)).toMatchObject({ status: 'cancelled' });
    await firstServer.end('SIGTERM');

    const secondServer = await machine.start(['--heartbeat-timeout', '4']);
    // On a busy machine, the agent may be killed before its goodbye. Then the worker goes offline after a timeout.
    const [storedWorker] = await secondServer.workers();
    expect(storedWorker).toMatchObject({ id: worker.id, local: true });
    if (storedWorker?.status !== 'offline') await secondServer.watch.worker(worker.id, 'offline');
    const body = { config: {}, target: 'local' } as const;
    expect(await secondServer.admin.call(queueApi.submit, { body })).toMatchObject({
      ok: false,
      failure: {
        status: 409,
        problem: { code: 'target_unavailable', detail: expect.stringContaining('--local-worker') },
      },
    });
    expect(await secondServer.job(waiting)).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('with --local-worker'),
    });
    valueOf(await secondServer.admin.call(workersApi.remove, remove));
    expect(await secondServer.workers()).toEqual([]);
    expect(machine.agents()).toEqual([]);
  },
  testLimitMs,
);

test(
  'shows the allocated GPUs of local and remote jobs, and hides other GPUs from their trainers',
  async () => {
    const machine = openMachine();
    const bin = join(machine.folder, 'bin');
    mkdirSync(bin);
    const rows = '0, RTX 4090, 24564, 550.1, GPU-aa\\n1, RTX 3090, 24576, 550.1, GPU-bb\\n';
    writeFileSync(join(bin, 'nvidia-smi'), `#!/bin/sh\nprintf '${rows}'\n`);
    chmodSync(join(bin, 'nvidia-smi'), 0o755);
    const PATH = `${bin}:${process.env['PATH']}`;
    const visibleFile = (name: string): string => join(machine.folder, `visible-${name}`);
    const trainer = (name: string): string => {
      const script = join(machine.folder, `trainer-${name}.cjs`);
      const exitWhenOpen = `require('node:fs').existsSync(${JSON.stringify(machine.gate)}) && process.exit(0)`;
      writeFileSync(
        script,
        `require('node:fs').writeFileSync(${JSON.stringify(visibleFile(name))}, String(process.env.CUDA_VISIBLE_DEVICES)); setInterval(() => ${exitWhenOpen}, 20)`,
      );
      return `'${process.execPath}' '${script}'`;
    };
    const local = ['--local-worker', '--local-worker-gpus', '1', '--local-worker-trainer', trainer('local')];
    const server = await machine.start(local, { PATH });
    expect(await server.localWorker()).toMatchObject({ gpu_count: 1, gpu_name: 'RTX 3090' });
    const rig = await server.createWorker({ name: 'rig-1', labels: { rig: 'yes' } });
    const rigArgs = ['worker', '--orchestrator-url', server.url, '--name', 'rig-1', '--persistent'];
    trainyard([...rigArgs, '--trainer', trainer('rig')], {
      env: { ...machine.env, PATH, SIMPLETUNER_WORKER_TOKEN: rig.token },
    });
    await server.watch.worker(rig.id, 'idle');

    const jobOnLocalWorker = await server.submit({ config: {}, target: 'local', gpu_count: 1 });
    const jobOnRig = await server.submit({
      config: { accelerate_visible_devices: [1] },
      worker_labels: { rig: 'yes' },
    });
    for (const id of [jobOnLocalWorker, jobOnRig]) await server.watch.job(id, 'running');
    expect(await server.job(jobOnLocalWorker)).toMatchObject({
      allocated_gpus: [0],
      worker_name: hostname(),
    });
    expect(await server.job(jobOnRig)).toMatchObject({ allocated_gpus: [1], worker_id: rig.id });
    const visible = (name: string): Promise<string> =>
      eventually(`the GPUs of the trainer ${name}`, () => {
        try {
          return readFileSync(visibleFile(name), 'utf8');
        } catch {
          return null;
        }
      });
    expect([await visible('local'), await visible('rig')]).toEqual(['1', '1']);
    writeFileSync(machine.gate, '');
    for (const id of [jobOnLocalWorker, jobOnRig]) await server.watch.jobEnd(id);
    expect(await server.job(jobOnLocalWorker)).toMatchObject({ allocated_gpus: null });
  },
  testLimitMs,
);

test.each([
  [
    '--local-worker-gpus without --local-worker',
    ['--local-worker-gpus', '0'],
    /--local-worker-gpus has no effect without --local-worker/,
  ],
  ['GPUs that are not numbers', ['--local-worker', '--local-worker-gpus', 'all'], /numbers of GPUs/],
])('exits with 2 for %s', async (_what, args, message) => {
  const server = trainyard(['server', '--port', '0', '--data-dir', temporaryFolder(), ...args]);
  expect(await server.exited).toEqual({ code: 2, signal: null });
  expect(server.lines.join('\n')).toMatch(message);
});
