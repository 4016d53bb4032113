/** Across crashes of the agent and the server, the curves of a training contain each step exactly once, in order. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { JobId } from '../../protocol/ids.ts';
import { metricsApi } from '../../protocol/metrics-api.ts';
import {
  type Program,
  type ServerProgram,
  startServer,
  startWorker,
  temporaryFolder,
} from '../support/processes.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';

/** Script that draws the progress bar of SimpleTuner's trainer and writes the current step to a file. */
const trainer = (folder: string): string => `
  const { existsSync, writeFileSync } = require('node:fs');
  let n = 0;
  const timer = setInterval(() => {
    n += 1;
    const bar = 'Epoch 1/10, Steps:  10%|█         | ' + n + '/9000 [01:23<01:41,  0.05s/it';
    process.stdout.write('\\r' + bar + ']');
    process.stdout.write('\\r' + bar + ', lr=1e-5, step_loss=' + (n === 10 ? 'nan' : (1 / n).toFixed(6)) + ']');
    writeFileSync(${JSON.stringify(join(folder, 'step'))}, String(n));
    if (existsSync(${JSON.stringify(join(folder, 'enough'))})) { clearInterval(timer); process.stdout.write('\\n'); }
  }, 60);`;

function makeTraining() {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'trainer.cjs'), trainer(folder));
  return {
    args: [
      '--name',
      'rig-1',
      '--persistent',
      '--trainer',
      `'${process.execPath}' '${join(folder, 'trainer.cjs')}'`,
    ],
    step: () => Number(readFileSync(join(folder, 'step'), 'utf8')),
    finish: () => writeFileSync(join(folder, 'enough'), ''),
  };
}

async function openServer(port = 0, dataDir = temporaryFolder()) {
  const server: ServerProgram = await startServer(['--port', String(port)], dataDir);
  onTestFinished(() => server.kill('SIGKILL'));
  const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim();
  const client = adminClient(server.url, token);
  const pointsOf = async (id: JobId, key = 'loss') => {
    const query = { keys: key, points: '5000' };
    const { attempts } = valueOf(await client.call(metricsApi.read, { params: { id }, query }));
    expect(attempts.length).toBeLessThanOrEqual(1);
    return attempts[0]?.series[0]?.points ?? [];
  };
  return { server, pointsOf, watch: () => watchEvents(server.url, token), ...createShortcuts(client) };
}

type Opened = Awaited<ReturnType<typeof openServer>>;

const waitForStep = ({ pointsOf }: Opened, job: JobId, step: number) =>
  vi.waitFor(
    async () => {
      const points = await pointsOf(job);
      if ((points.at(-1)?.step ?? 0) < step) throw new Error(`step ${step} has not arrived`);
      return points;
    },
    { interval: 100, timeout: 30_000 },
  );

/** Expects that each step up to `last` is on the curve exactly once, at increasing times. */
async function expectCompleteCurve(fixture: Opened, job: JobId, last: number): Promise<void> {
  const points = await waitForStep(fixture, job, last);
  expect(points.map(({ step }) => step)).toEqual(Array.from({ length: last }, (_, at) => at + 1));
  expect(points.map(({ count, gaps }) => count + gaps)).toEqual(points.map(() => 1));
  expect(points.filter(({ gaps }) => gaps > 0).map(({ step }) => step)).toEqual([10]);
  const times = points.map(({ elapsed_ms: ms }) => ms);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  // A step takes at least 60 ms, and time also passed during the interruptions.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan((last - 1) * 55);
  for (const { step, last: loss } of points) if (step !== 10) expect(loss).toBeCloseTo(1 / (step ?? 0), 5);
}

test('continues the same curve after the agent is killed and restarted', async () => {
  const fixture = await openServer();
  const { token } = await fixture.createWorker({ name: 'rig-1' });
  const [stateHome, training] = [temporaryFolder(), makeTraining()];
  const start = (): Program =>
    startWorker({ url: fixture.server.url, token, args: training.args, stateHome });
  const first = start();
  await first.waitForLine(/^Connected/);
  const job = await fixture.submit({ config: {} });
  const pointsBeforeKill = await waitForStep(fixture, job, 20);
  first.kill('SIGKILL');
  await first.exited;
  // The trainer continues to print while no agent runs. This output must not be lost.
  const stepWithoutAgent = training.step() + 30;
  await vi.waitFor(() => expect(training.step()).toBeGreaterThan(stepWithoutAgent), {
    interval: 50,
    timeout: 30_000,
  });

  const second = start();
  await second.waitForLine(/^Job .* goes on/);
  await waitForStep(fixture, job, stepWithoutAgent + 20);
  const watch = await fixture.watch();
  onTestFinished(() => watch.close());
  training.finish();
  await watch.jobEnd(job);
  await expectCompleteCurve(fixture, job, training.step());
  expect((await fixture.pointsOf(job)).slice(0, pointsBeforeKill.length)).toEqual(pointsBeforeKill);
}, 90_000);

test('keeps acknowledged points when the server is killed, and receives the rest after its restart', async () => {
  const first = await openServer();
  const { token } = await first.createWorker({ name: 'rig-1' });
  const training = makeTraining();
  const agent = startWorker({ url: first.server.url, token, args: training.args });
  await agent.waitForLine(/^Connected/);
  const job = await first.submit({ config: {} });
  const pointsBeforeKill = await waitForStep(first, job, 20);
  first.server.kill('SIGKILL');
  await first.server.exited;
  const stepWithoutServer = training.step() + 30;
  await vi.waitFor(() => expect(training.step()).toBeGreaterThan(stepWithoutServer), {
    interval: 50,
    timeout: 30_000,
  });

  const second = await openServer(Number(new URL(first.server.url).port), first.server.dataDir);
  const watch = await second.watch();
  onTestFinished(() => watch.close());
  expect((await second.pointsOf(job)).slice(0, pointsBeforeKill.length)).toEqual(pointsBeforeKill);
  await waitForStep(second, job, stepWithoutServer);
  training.finish();
  await watch.jobEnd(job);
  await expectCompleteCurve(second, job, training.step());
}, 90_000);

/** Returns the paths of the reports in the run folders of a rig. */
const reportFiles = (stateHome: string): readonly string[] =>
  readdirSync(stateHome, { recursive: true, encoding: 'utf8' }).filter(path =>
    /runs\/[^/]+\/report\.json$/.test(path),
  );

test('completes the curve of a training that ended while agent and server were down', async () => {
  const first = await openServer();
  const { token } = await first.createWorker({ name: 'rig-1' });
  const [stateHome, training] = [temporaryFolder(), makeTraining()];
  const { url } = first.server;
  const start = (): Program => startWorker({ url, token, args: training.args, stateHome });
  const agent = start();
  await agent.waitForLine(/^Connected/);
  const job = await first.submit({ config: {} });
  await waitForStep(first, job, 20);
  first.server.kill('SIGKILL');
  await first.server.exited;
  const stepWithoutServer = training.step() + 30;
  await vi.waitFor(() => expect(training.step()).toBeGreaterThan(stepWithoutServer), {
    interval: 50,
    timeout: 30_000,
  });
  training.finish();
  await vi.waitFor(() => expect(reportFiles(stateHome)).not.toEqual([]), { interval: 50, timeout: 30_000 });
  agent.kill('SIGKILL');
  await agent.exited;

  const second = await openServer(Number(new URL(url).port), first.server.dataDir);
  const watch = await second.watch();
  onTestFinished(() => watch.close());
  start();
  await watch.jobEnd(job);
  await expectCompleteCurve(second, job, training.step());
}, 90_000);
