/** `trainyard jobs compare` in this process, against a server with jobs of different configs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobId } from '../../protocol/ids.ts';
import { type CliRun, runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { openRig, startJob } from '../support/upload-bench.ts';

let server: TestServer;
let run: JobId;
let pendingJob: JobId;
beforeAll(async () => {
  server = await startTestServer();
  const rig = await openRig(server);
  const base = { model_type: 'lora', lora_rank: 16 };
  const job = await startJob(server, rig, {
    config_name: 'low',
    config: { ...base, learning_rate: 1e-4, optimizer: 'adamw_bf16' },
  });
  await rig.report(job, 'running', { progress: { step: 40, total_steps: 100, loss: 0.123456 } });
  await rig.report(job, 'completed');
  run = job.jobId;
  pendingJob = await server.submit({
    config_name: 'high',
    config: { ...base, learning_rate: 3e-4 },
    dataloader: [{ id: 'flowers', repeats: 2 }],
    gpu_count: 8,
  });
});
afterAll(() => server.close());

const compare = (...args: readonly string[]): Promise<CliRun> =>
  runTrainyard(['jobs', 'compare', ...args, '--data-dir', server.dataDir]);

test('prints the differing keys, status, step, loss and run time of each job', async () => {
  const { code, out, err } = await compare(run, 'high');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const [head = '', ...rows] = out.trimEnd().split('\n');
  expect(head.split(/ {2,}/)).toEqual([
    'ID',
    'NAME',
    'learning_rate',
    'optimizer',
    'dataloader.0.id',
    'dataloader.0.repeats',
    'STATUS',
    'STEP',
    'LOSS',
    'RUN TIME',
  ]);
  expect(rows).toEqual([
    expect.stringMatching(/ low +0\.0001 +adamw_bf16 +- +- +completed +40 +0\.1235 +\d+ s$/),
    expect.stringMatching(/ high +0\.0003 +- +flowers +2 +pending +- +- +0 s$/),
  ]);
});

test('prints the comparison as JSON', async () => {
  const answer: unknown = JSON.parse((await compare(run, pendingJob, '--json')).out);
  expect(answer).toMatchObject({
    keys: ['learning_rate', 'optimizer', 'dataloader.0.id', 'dataloader.0.repeats'],
    jobs: [
      { job_id: run, status: 'completed', step: 40, loss: 0.123456, config: { learning_rate: 1e-4 } },
      { job_id: pendingJob, status: 'pending', step: null, loss: null, run_s: 0 },
    ],
  });
});

test('reports that the configs are the same, if no key differs', async () => {
  const config = { learning_rate: 1e-4 };
  const sameConfigJobs = [
    await server.submit({ config, gpu_count: 8 }),
    await server.submit({ config, gpu_count: 8 }),
  ];
  const { code, err } = await compare(...sameConfigJobs);
  expect({ code, err }).toEqual({ code: 0, err: 'The configs are the same\n' });
});

test('refuses a single job, the same job twice, and an unknown job', async () => {
  for (const args of [[run], [run, 'low']]) {
    const { code, out, err } = await compare(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/at least two different jobs/);
  }
  expect(await compare(run, 'j_none')).toMatchObject({ code: 4, out: '' });
});
