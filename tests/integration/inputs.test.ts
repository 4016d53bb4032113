/** Jobs that take files of other jobs, on a real server with real workers and a simple trainer. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { listStoredFiles, createInputRig } from '../support/input-rig.ts';
import { startWorker } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { until } from '../unit/agent/guard-rig.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
});
afterEach(() => server.close());

const startRig = (name: string) => createInputRig(name, server);

const readJob = async (job: JobId) => valueOf(await server.admin.call(queueApi.get, { params: { id: job } }));
const explainJob = async (job: JobId): Promise<string | null> =>
  valueOf(await server.admin.call(queueApi.explain, { params: { id: job } })).summary;

const training = {
  losses: [
    [100, 0.9],
    [200, 0.2],
    [300, 0.7],
  ],
  files: {
    'lora-step00000100.safetensors': 3_000,
    'lora-step00000200.safetensors': 400_000,
    'lora-step00000300.safetensors': 3_000,
    'lora.safetensors': 5_000,
    'notes/log.txt': 10,
    'notes/deep/more.txt': 20,
  },
};

const submitChild = (parent: JobId, file: string, more: object = {}): Promise<JobId> =>
  server.submit({
    name: `takes ${file}`,
    config: { takes: '{{inputs.lora}}' },
    inputs: [{ name: 'lora', from: parent, file }],
    ...more,
  });

test('starts children from the best checkpoint, the result and a folder of their parent, byte for byte', async () => {
  const rig = await startRig('rig-1');
  rig.start();
  const parent = await server.submit({ name: 'base', config: training });
  const best = await submitChild(parent, 'checkpoint best');
  const result = await submitChild(parent, 'result');
  const folder = await submitChild(parent, 'notes/');
  expect((await readJob(best)).after).toMatchObject({ on: 'success', parents: [{ job_id: parent }] });
  for (const job of [parent, best, result, folder])
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  const stored = await listStoredFiles(parent, server.admin);
  const [key, lora] = ['lora-step00000200.safetensors', 'lora.safetensors'];
  expect(rig.seen(best)).toEqual({ [key]: stored[key] });
  expect(rig.seen(result)).toEqual({ [lora]: stored[lora] });
  expect(rig.seen(folder)).toEqual({
    'log.txt': stored['notes/log.txt'],
    [join('deep', 'more.txt')]: stored['notes/deep/more.txt'],
  });
  const source = { job_id: parent, key, step: 200, files: 1, bytes: 400_000 };
  expect((await readJob(best)).inputs).toEqual([
    { name: 'lora', job_id: parent, job_name: 'base', file: 'checkpoint best', source },
  ]);
});

const stateFiles = (step: number): Readonly<Record<string, number>> => ({
  [`lora-step00000${step}.safetensors`]: 3_000,
  [`lora-step00000${step}-state/optimizer.bin`]: 200_000,
  [`lora-step00000${step}-state/train_state.json`]: 30,
  [`lora-step00000${step}-state/random/states_0.pkl`]: 14_000,
});

test('continues the training of a parent from its checkpoint folder, and does not upload that folder again', async () => {
  const rig = await startRig('rig-1');
  const program = rig.start();
  const parent = await server.submit({
    name: 'base',
    config: {
      losses: [
        [100, 0.2],
        [200, 0.9],
      ],
      files: { ...stateFiles(100), ...stateFiles(200) },
    },
  });
  const inputs = (file: string) => [{ name: 'base', from: parent, file }];
  const config = { resumes: true, $resume: '{{inputs.base}}' };
  const newest = await server.submit({ config, inputs: inputs('state newest') });
  const best = await server.submit({ config, inputs: inputs('state best') });
  for (const job of [parent, newest, best])
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  const stored = await listStoredFiles(parent, server.admin);
  for (const [job, step] of [
    [newest, 200],
    [best, 100],
  ] as const) {
    const folder = `lora-step00000${step}-state`;
    expect(rig.seen(job)).toMatchObject({
      'optimizer.bin': stored[`${folder}/optimizer.bin`],
      'train_state.json': stored[`${folder}/train_state.json`],
      [join('random', 'states_0.pkl')]: stored[`${folder}/random/states_0.pkl`],
    });
    const uploaded = await until(async () => {
      const keys = Object.keys(await listStoredFiles(job, server.admin));
      return keys.includes('seen.json') ? keys : null;
    }, 30_000);
    expect(uploaded).toEqual(['seen.json']);
  }
  await program.waitForLine(/Continuing from lora-step00000200-state, a checkpoint of another job/);
}, 120_000);

test('keeps a child pending when its parent completed without the input file, and refuses new children', async () => {
  const rig = await startRig('rig-1');
  rig.start();
  const parent = await server.submit({ name: 'base', config: { files: { 'other.txt': 5 } } });
  const child = await submitChild(parent, 'checkpoint best');
  expect(await explainJob(child)).toMatch(/^Waits for base \((?:pending|starting|running)/);
  expect(await server.watch.jobEnd(parent)).toMatchObject({ status: 'completed' });
  await server.watch.until('the reason', event =>
    event.kind === 'job' && event.job_id === child && /has no checkpoint/.test(event.job?.reason ?? '')
      ? true
      : null,
  );
  expect(await explainJob(child)).toBe(
    'Waits for base, which has no checkpoint (input lora). Retry that job, submit this one again with another file, or cancel it',
  );
  expect(await server.admin.call(queueApi.remove, { params: { id: parent } })).toMatchObject({
    failure: { problem: { code: 'job_awaited' } },
  });
  const body = { config: {}, inputs: [{ name: 'lora', from: parent, file: 'checkpoint best' }] };
  expect(await server.admin.call(queueApi.submit, { body })).toMatchObject({
    failure: {
      problem: { code: 'artifact_not_found', detail: `Job base (${parent}) has no checkpoint (input lora)` },
    },
  });
});

test('fails a child whose input file was deleted before a worker was free', async () => {
  const rig = await startRig('rig-1');
  rig.start();
  const parent = await server.submit({ name: 'base', config: training });
  expect(await server.watch.jobEnd(parent)).toMatchObject({ status: 'completed' });
  const child = await submitChild(parent, 'lora.safetensors', { worker_labels: { place: 'attic' } });
  await server.watch.until('the parent to be done', event =>
    event.kind === 'job' && event.job_id === child && event.job?.after?.parents[0]?.done ? true : null,
  );
  const params = { id: parent, key: ['lora.safetensors'] };
  valueOf(await server.admin.call(artifactsApi.remove, { params }));
  const { token } = await server.createWorker({ name: 'rig-2', labels: { place: 'attic' } });
  startWorker({ url: server.url, token, args: ['--name', 'rig-2', '--trainer', 'true {config_path}'] });
  expect(await server.watch.jobEnd(child)).toMatchObject({ status: 'failed', attempt: 0 });
  expect((await readJob(child)).error_message).toBe(
    `Job base (${parent}) has no file lora.safetensors (input lora)`,
  );
});
