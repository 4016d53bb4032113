/** Jobs that take files of other jobs, on a real server with real workers and a simple trainer. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { Client } from '../../protocol/client.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { startServer, startWorker, temporaryFolder } from '../support/processes.ts';
import {
  adminClient,
  createShortcuts,
  startTestServer,
  type TestServer,
  valueOf,
} from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';
import { until } from '../unit/agent/guard-rig.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
});
afterEach(() => server.close());

/**
 * Without `takes`, trains: writes files of random bytes as the config says, and reports losses. With `takes`, writes the SHA-256 of each
 * file at that path to its output.
 */
const trainer = `
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
const { resumes, takes = resumes && process.argv[4], files = {}, losses = [] } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
);
const output = process.argv[3];
for (const [step, loss] of losses) console.log(JSON.stringify({ type: 'progress', step, loss }));
for (const [path, bytes] of Object.entries(files)) {
  mkdirSync(dirname(join(output, path)), { recursive: true });
  writeFileSync(join(output, path), randomBytes(bytes));
}
if (takes !== undefined) {
  const digestOf = path => createHash('sha256').update(readFileSync(path)).digest('hex');
  const inside = statSync(takes).isDirectory() ? readdirSync(takes, { recursive: true }).map(String) : [''];
  const seen = inside.filter(name => statSync(join(takes, name)).isFile());
  const digests = seen.map(name => [name === '' ? basename(takes) : name, digestOf(join(takes, name))]);
  writeFileSync(join(output, 'seen.json'), JSON.stringify(Object.fromEntries(digests)));
}
`;

interface ServerAccess {
  readonly url: string;
  createWorker(body: { readonly name: string }): Promise<{ readonly id: WorkerId; readonly token: string }>;
}

async function startRig(name: string, { url, createWorker }: ServerAccess = server) {
  const { token } = await createWorker({ name });
  const stateHome = temporaryFolder();
  const script = join(stateHome, 'train.mjs');
  writeFileSync(script, trainer);
  const command = `'${process.execPath}' '${script}' {config_path} {output_dir} {resume_from}`;
  const start = () =>
    startWorker({ url, token, stateHome, args: ['--name', name, '--persistent', '--trainer', command] });
  const folderOf = (job: JobId): string => join(stateHome, 'trainyard', name, 'jobs', job);
  return {
    start,
    seen: (job: JobId): unknown =>
      JSON.parse(readFileSync(join(folderOf(job), 'output', 'seen.json'), 'utf8')),
    /** The names of the files of its inputs, complete and partial ones. */
    inputs(job: JobId): readonly string[] {
      try {
        return readdirSync(join(folderOf(job), 'inputs'), { recursive: true }).map(String);
      } catch {
        return [];
      }
    },
  };
}

/** The SHA-256 of the files that the server has of a job, by key. */
async function listStoredFiles(
  job: JobId,
  admin: Client = server.admin,
): Promise<Readonly<Record<string, string>>> {
  const page = valueOf(await admin.call(artifactsApi.list, { params: { id: job }, query: { limit: 500 } }));
  return Object.fromEntries(page.artifacts.map(({ key, sha256 }) => [key, sha256]));
}

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

const submitTaker = (parent: JobId, file: string, more: object = {}): Promise<JobId> =>
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
  const best = await submitTaker(parent, 'checkpoint best');
  const result = await submitTaker(parent, 'result');
  const folder = await submitTaker(parent, 'notes/');
  expect((await readJob(best)).after).toMatchObject({ on: 'success', parents: [{ job_id: parent }] });
  for (const job of [parent, best, result, folder])
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  const stored = await listStoredFiles(parent);
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

test('continues the training of a parent from its whole checkpoint folder, which it does not upload again', async () => {
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
  const stored = await listStoredFiles(parent);
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
      const keys = Object.keys(await listStoredFiles(job));
      return keys.includes('seen.json') ? keys : null;
    }, 30_000);
    expect(uploaded).toEqual(['seen.json']);
  }
  await program.waitForLine(/Continuing from lora-step00000200-state, a checkpoint of another job/);
}, 120_000);

test('keeps a child waiting with the reason if its parent completed without the file, and refuses new ones', async () => {
  const rig = await startRig('rig-1');
  rig.start();
  const parent = await server.submit({ name: 'base', config: { files: { 'other.txt': 5 } } });
  const child = await submitTaker(parent, 'checkpoint best');
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

test('fails a child whose file was deleted before a worker was free', async () => {
  const rig = await startRig('rig-1');
  rig.start();
  const parent = await server.submit({ name: 'base', config: training });
  expect(await server.watch.jobEnd(parent)).toMatchObject({ status: 'completed' });
  const child = await submitTaker(parent, 'lora.safetensors', { worker_labels: { place: 'attic' } });
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

const manyFiles = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`weights/${n}.bin`, 100_000]));
const countWeightFiles = (names: readonly string[]): number =>
  names.filter(name => name.endsWith('.bin')).length;

test('continues the download of an input after the worker was killed in the middle of it', async () => {
  const rig = await startRig('rig-1');
  const program = rig.start();
  const parent = await server.submit({ name: 'base', config: { files: manyFiles } });
  expect(await server.watch.jobEnd(parent)).toMatchObject({ status: 'completed' });
  const child = await submitTaker(parent, 'weights');
  await until(() => Promise.resolve(countWeightFiles(rig.inputs(child)) > 20 ? true : null), 60_000);
  program.kill('SIGKILL');
  await program.exited;
  const filesBeforeRestart = countWeightFiles(rig.inputs(child));
  expect(filesBeforeRestart).toBeLessThan(150);
  const restarted = rig.start();
  expect(await server.watch.jobEnd(child)).toMatchObject({ status: 'completed' });
  const stored = await listStoredFiles(parent);
  expect(rig.seen(child)).toEqual(
    Object.fromEntries(Object.keys(manyFiles).map(key => [key.slice('weights/'.length), stored[key]])),
  );
  const [, fetchedMegabytes] = await restarted.waitForLine(/Inputs: lora \(weights\), ([\d.]+) MB fetched/);
  expect(Number(fetchedMegabytes)).toBeLessThanOrEqual(15 - (filesBeforeRestart - 1) * 0.1 + 0.1);
}, 120_000);

test('delivers an input although the server is killed in the middle of the download', async () => {
  const first = await startServer();
  onTestFinished(() => first.kill('SIGKILL'));
  const tokenOf = (): string => readFileSync(join(first.dataDir, 'admin-token'), 'utf8').trim();
  const admin = adminClient(first.url, tokenOf());
  const { createWorker, submit } = createShortcuts(admin);
  const rig = await startRig('rig-1', { url: first.url, createWorker });
  rig.start();
  const watch = await watchEvents(first.url, tokenOf());
  const parent = await submit({ name: 'base', config: { files: manyFiles } });
  const child = await submit({
    config: { takes: '{{inputs.lora}}' },
    inputs: [{ name: 'lora', from: parent, file: 'weights' }],
  });
  expect(await watch.jobEnd(parent)).toMatchObject({ status: 'completed' });
  await until(() => Promise.resolve(countWeightFiles(rig.inputs(child)) > 20 ? true : null), 60_000);
  first.kill('SIGKILL');
  await first.exited;
  expect(countWeightFiles(rig.inputs(child))).toBeLessThan(150);
  const second = await startServer(['--port', new URL(first.url).port], first.dataDir);
  onTestFinished(() => second.kill('SIGKILL'));
  const watchAfterRestart = await watchEvents(second.url, tokenOf());
  onTestFinished(() => watchAfterRestart.close());
  expect(await watchAfterRestart.jobEnd(child)).toMatchObject({ status: 'completed', attempt: 1 });
  const stored = await listStoredFiles(parent, admin);
  expect(rig.seen(child)).toEqual(
    Object.fromEntries(Object.keys(manyFiles).map(key => [key.slice('weights/'.length), stored[key]])),
  );
}, 120_000);
