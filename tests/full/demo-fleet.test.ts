/** `npm run demo-fleet` as a separate process, against a real orchestrator. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { JobView } from '../../protocol/job.ts';
import { runDemoFleet } from '../support/cli.ts';
import { type Program, startProgram } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

/** Starts a demo fleet. Resolves when all its workers can take jobs. */
async function startFleet(workers: number, ...args: readonly string[]): Promise<Program> {
  const entry = [process.execPath, 'dev/demo-fleet/run.ts'];
  const argv = [...entry, '--data-dir', server.dataDir, '--workers', String(workers), ...args];
  const fleet = startProgram(argv, { env: { XDG_CONFIG_HOME: server.dataDir } });
  onTestFinished(async () => {
    fleet.kill('SIGKILL');
    await fleet.exited;
  });
  await fleet.waitForLine(/workers are ready|"ready"/);
  const ids = new Set(fleet.lines.flatMap(line => /\bw_\w+/.exec(line) ?? []));
  expect(ids.size).toBe(workers);
  for (const id of ids) await server.watch.worker(id, 'idle');
  return fleet;
}

const listWorkers = async () => valueOf(await server.admin.call(workersApi.list)).workers;

const waitForJob = (fits: (job: JobView) => boolean): Promise<JobView> =>
  server.watch.until('a matching job', event =>
    event.kind === 'job' && event.job !== null && fits(event.job) ? event.job : null,
  );

describe('demo-fleet', () => {
  test('registers ten demo workers with their hardware, runs jobs, and removes the workers on Ctrl-C', async () => {
    const fleet = await startFleet(10, '--job-seconds', '4', '--fail-rate', '0');
    const workers = await listWorkers();
    expect(workers.map(({ name }) => name).toSorted()).toEqual([
      ...Array.from({ length: 9 }, (_, at) => `demo-0${at + 1}`),
      'demo-10',
    ]);
    expect(workers.find(({ name }) => name === 'demo-04')).toMatchObject({
      status: 'idle',
      protocol: 2,
      gpu_count: 8,
      gpu_name: 'NVIDIA H100 80GB HBM3',
      gpu_vram_gb: 80,
      accelerator_type: 'cuda',
      labels: { fleet: 'demo', gpu_type: 'h100-80gb' },
      gpu_info: {
        driver: '550.144.03',
        gpus: Array.from({ length: 8 }, (_, index) => ({
          index,
          name: 'NVIDIA H100 80GB HBM3',
          vram_gb: 80,
        })),
      },
    });

    const id = await server.submit({ config: { a: 1 }, worker_labels: { gpu_type: 'a100*' }, gpu_count: 4 });
    const completedJob = await server.watch.jobEnd(id);
    expect(completedJob).toMatchObject({ status: 'completed', attempt: 1, progress: { percent: 100 } });
    expect(workers.find(({ name }) => name === completedJob.worker_name)?.labels['gpu_type']).toBe(
      'a100-80gb',
    );
    const progress = server.watch.seen.flatMap(event =>
      event.kind === 'job' && event.job_id === id && event.type === 'job.progress'
        ? [event.job?.progress]
        : [],
    );
    expect(progress.find(one => (one?.percent ?? 100) < 100)).toMatchObject({
      loss: expect.any(Number),
      learning_rate: expect.any(Number),
      epoch: expect.any(Number),
    });

    fleet.kill('SIGINT');
    expect(await fleet.exited).toEqual({ code: 0, signal: null });
    expect(fleet.lines.at(-1)).toBe('Removed 10 workers');
    expect(await listWorkers()).toEqual([]);
  });
});

test('stops a running demo job when it is cancelled', async () => {
  await startFleet(1, '--job-seconds', '1h');
  const id = await server.submit({ config: { a: 1 } });
  await server.watch.job(id, 'running');
  valueOf(await server.admin.call(queueApi.cancel, { params: { id } }));
  const job = await server.watch.jobEnd(id);
  expect(job).toMatchObject({ status: 'cancelled' });
});

test('reports why a demo job failed, and takes the next job', async () => {
  await startFleet(1, '--job-seconds', '0.5', '--fail-rate', '1');
  for (const config of [{ a: 1 }, { a: 2 }]) {
    const id = await server.submit({ config });
    const job = await server.watch.jobEnd(id);
    expect(job.status).toBe('failed');
    expect(['out_of_memory', 'trainer_exit']).toContain(job.cause);
    expect(job.error_message).toMatch(/Error: /);
  }
});

test('runs the sample jobs of a demo fleet only on demo workers, and cancels the remaining jobs when it stops', async () => {
  await server.createWorker({ name: 'demo-01', labels: { team: 'real' } });
  const fleet = await startFleet(1, '--submit-rate', '10/s', '--job-seconds', '1h', '--json');
  const first = await waitForJob(job => job.status === 'running');
  expect(first).toMatchObject({ worker_name: 'demo-02', worker_labels: { fleet: 'demo' } });
  await waitForJob(job => job.status === 'pending' && job.id !== first.id);
  fleet.kill('SIGTERM');
  expect((await fleet.exited).code).toBe(0);
  const { entries } = valueOf(await server.admin.call(queueApi.list, { query: { limit: 500 } }));
  expect(new Set(entries.map(({ status }) => status))).toEqual(new Set(['cancelled']));
  // The demo fleet keeps the worker of another user, although it has the name of a demo worker.
  expect((await listWorkers()).map(({ name }) => name)).toEqual(['demo-01']);
  const rows = fleet.lines.flatMap(line =>
    line.startsWith('{') ? [JSON.parse(line) as { type: string }] : [],
  );
  expect(rows.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['worker', 'ready', 'status', 'removed']),
  );
});

test('keeps demo workers with --keep, and removes workers of an earlier demo at the next start', async () => {
  const keptFleet = await startFleet(2, '--keep');
  keptFleet.kill('SIGINT');
  expect(await keptFleet.exited).toEqual({ code: 0, signal: null });
  expect((await listWorkers()).map(({ name, status }) => [name, status])).toEqual([
    ['demo-01', 'offline'],
    ['demo-02', 'offline'],
  ]);
  const firstFleet = await startFleet(1);
  await firstFleet.waitForLine(/^Removed 2 workers of an earlier demo$/);
  // A second fleet can run at the same time.
  const secondFleet = await startFleet(1);
  await secondFleet.waitForLine(/^Kept 1 demo workers/);
  expect((await listWorkers()).map(({ name }) => name).toSorted()).toEqual(['demo-01', 'demo-02']);
});

test('ends a demo fleet when its last ephemeral worker has left after one job', async () => {
  const fleet = await startFleet(1, '--ephemeral', '1', '--job-seconds', '0.5', '--fail-rate', '0');
  expect(await listWorkers()).toMatchObject([{ worker_type: 'ephemeral', persistent: false }]);
  const id = await server.submit({ config: { a: 1 } });
  expect(await fleet.exited).toEqual({ code: 0, signal: null });
  expect(valueOf(await server.admin.call(queueApi.get, { params: { id } })).status).toBe('completed');
  expect(await listWorkers()).toEqual([]);
});

describe('usage errors of demo-fleet', () => {
  test.each<[string, number, readonly string[], RegExp]>([
    ['zero workers', 2, ['--workers', '0'], /Give a number from 1 to 500/],
    ['too many workers', 2, ['--workers', '501'], /Give a number from 1 to 500/],
    ['a fraction of a worker', 2, ['--workers', '1.5'], /Give a whole number/],
    ['a failure rate above 1', 2, ['--fail-rate', '2'], /Give a share from 0 to 1/],
    ['a job length of zero', 2, ['--job-seconds', '0'], /up to a day/],
    ['a rate without a unit', 2, ['--submit-rate', '6'], /such as 6\/min/],
    ['a submit rate of zero', 2, ['--submit-rate', '0/min'], /such as 6\/min/],
    ['more flaky workers than workers', 2, ['--workers', '2', '--flaky', '3'], /there are only 2 workers/],
    ['an invalid token', 3, ['--token', 'ta_wrong'], /Invalid token/],
    [
      'a missing orchestrator',
      6,
      ['--data-dir', '/nonexistent'],
      /No orchestrator uses the data folder \/nonexistent/,
    ],
  ])('fails with a reason and adds no worker for %s', async (_what, code, args, message) => {
    const run = await runDemoFleet(['--data-dir', server.dataDir, ...args]);
    expect(run).toMatchObject({ code, out: '' });
    expect(run.err).toMatch(message);
    expect(await listWorkers()).toEqual([]);
  });
});
