/** `trainyard jobs export --to mlflow` in this process, against a server that enforces MLflow's limits. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { type MlflowReceiver, startMlflow } from '../support/mlflow-receiver.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { type JobOffer, openRig, type Rig, startJob } from '../support/upload-bench.ts';

let server: TestServer;
let rig: Rig;
let mlflow: MlflowReceiver;
beforeAll(async () => {
  server = await startTestServer();
  rig = await openRig(server);
});
afterAll(() => server.close());
beforeEach(async () => {
  mlflow = await startMlflow();
  return () => mlflow.close();
});

async function postPoints({ jobId, attemptId }: JobOffer, points: readonly object[]): Promise<void> {
  for (let start = 0; start < points.length; start += 500) {
    const answer = await fetch(`${server.url}/api/workers/job/${jobId}/metrics`, {
      method: 'POST',
      headers: { 'x-worker-token': rig.token, 'content-type': 'application/json' },
      body: JSON.stringify({ attempt_id: attemptId, points: points.slice(start, start + 500) }),
    });
    expect(answer.status).toBe(200);
  }
}

const pointsTo = (end: number, from = 0): readonly object[] =>
  Array.from({ length: end - from }, (_, index) => {
    const n = from + index;
    return { n, elapsed_ms: n / 100, step: n + 1, values: { loss: 1 / (n + 1), 'loss/val': 0.5 } };
  });

const exportJob = (job: string, args: readonly string[] = [], options?: CliOptions): Promise<CliRun> =>
  runTrainyard(
    [
      'jobs',
      'export',
      job,
      '--to',
      'mlflow',
      '--tracking-uri',
      mlflow.url,
      ...args,
      '--data-dir',
      server.dataDir,
    ],
    options,
  );
const summaryOf = (run: CliRun): object => ({ code: run.code, ...(JSON.parse(run.out) as object) });
const onlyRun = () => {
  expect(mlflow.runs).toHaveLength(1);
  const [run] = mlflow.runs;
  if (run === undefined) throw new Error('MLflow has no run');
  return run;
};

/** Starts a job. After the test, the job is reported as completed. */
async function startExportableJob(config: Record<string, unknown> = {}): Promise<JobOffer> {
  const job = await startJob(server, rig, { config });
  onTestFinished(async () => void (await rig.report(job, 'completed')));
  return job;
}

describe('a first export', () => {
  test('exports config, curves, status and times of all attempts of a job', async () => {
    const prompts = Object.fromEntries(
      Array.from({ length: 120 }, (_, n) => [`prompt ${n}?`, n < 10 ? '語'.repeat(7_000) : 'short']),
    );
    const config = {
      '--learning_rate': 1e-4,
      hub_token: 'opensesame',
      parts: [{ train: { lr: 0.1, url: 'https://ada:hunter2@h.lan/x' } }],
      prompts,
    };
    const job = await startJob(server, rig, { config, name: 'Blumen, "groß"', max_retries: 1 });
    await postPoints(job, [
      ...pointsTo(1_500),
      { n: 1_500, elapsed_ms: 15, values: { loss: null, gpu: 97 } },
    ]);
    await rig.report(job, 'failed', { cause: 'preempted', error: 'taken away' });
    const secondOffer = await rig.nextOffer();
    for (const status of ['starting', 'running']) await rig.report(secondOffer, status);
    await postPoints(secondOffer, [
      { n: 0, elapsed_ms: 100, step: 1_501, values: { loss: 0.25, 'bad:name)': 1 } },
    ]);
    const link = { kind: 'wandb', url: 'https://wandb.ai/ada/flux/runs/8k2v1q0x' };
    await rig.report(secondOffer, 'completed', { links: [link] });

    const before = Date.now();
    const run = await exportJob(job.jobId, ['--experiment', 'loras', '--json']);
    expect(run.err).toBe('');
    const received = onlyRun();
    expect(summaryOf(run)).toEqual({
      code: 0,
      job_id: job.jobId,
      experiment_id: '1',
      run_id: received.run_id,
      url: `${mlflow.url}/#/experiments/1/runs/${received.run_id}`,
      created: true,
      new_params: 124,
      new_values: 3_003,
    });
    expect([...mlflow.experiments.keys()]).toEqual(['loras']);
    expect(received).toMatchObject({ run_name: 'Blumen, "groß"', status: 'FINISHED' });
    expect(received.start_time).toBeLessThanOrEqual(received.end_time ?? 0);
    expect(received.end_time).toBeLessThanOrEqual(before);
    const lengths = [...received.params].map(([key, value]) => [
      key,
      value.length > 100 ? value.length : value,
    ]);
    expect(Object.fromEntries(lengths)).toMatchObject({
      learning_rate: '0.0001',
      hub_token: '[hidden]',
      'parts.0.train.lr': '0.1',
      'parts.0.train.url': 'https://[hidden]@h.lan/x',
      'prompts.prompt 7_': 6_000,
      'prompts.prompt 77_': 'short',
    });
    expect(Object.fromEntries(received.tags)).toMatchObject({
      'trainyard.job_id': job.jobId,
      'trainyard.status': 'completed',
      'trainyard.attempts': '2',
      'trainyard.worker': 'rig-1',
      'trainyard.link.wandb': link.url,
    });
    const losses = received.metrics.filter(({ key }) => key === 'loss');
    expect(losses.map(({ step }) => step)).toEqual(Array.from({ length: 1_501 }, (_, n) => n + 1));
    expect(losses.at(0)?.value).toBe(1);
    expect(losses.at(-1)?.value).toBe(0.25);
    expect(losses.every(({ timestamp }, start) => timestamp >= (losses[start - 1]?.timestamp ?? 0))).toBe(
      true,
    );
    expect(new Set(received.metrics.map(({ key }) => key))).toEqual(
      new Set(['loss', 'loss.val', 'gpu', 'bad_name_']),
    );
  });

  test('exports a running job as RUNNING, and takes experiment and address from the environment', async () => {
    const job = await startExportableJob();
    const run = await runTrainyard(
      ['jobs', 'export', job.jobId, '--to', 'mlflow', '--data-dir', server.dataDir, '--json'],
      { env: { MLFLOW_TRACKING_URI: `${mlflow.url}/`, MLFLOW_EXPERIMENT_NAME: 'from env' } },
    );
    expect(summaryOf(run)).toMatchObject({ code: 0, created: true, new_values: 0 });
    expect([...mlflow.experiments.keys()]).toEqual(['from env']);
    expect(onlyRun()).toMatchObject({ status: 'RUNNING', end_time: null });
  });

  test('shows the progress of an export on a terminal', async () => {
    const job = await startExportableJob();
    await postPoints(job, pointsTo(3));
    const run = await exportJob(job.jobId, [], { screen: { columns: 100, rows: 30 } });
    expect(run.err).toMatch(/reading curves.*100 %  sending values/s);
    expect(run.out).toMatch(/^Run +http.*\nResult +created\nNew params +0\nNew values +6\n$/);
  });
});

describe('a repeated export', () => {
  test('exports only new values, and keeps tags that users changed in MLflow', async () => {
    const job = await startExportableJob({ lr: 1 });
    await postPoints(job, pointsTo(700));
    await exportJob(job.jobId);
    const received = onlyRun();
    received.tags.set('mlflow.note.content', 'best so far');
    expect(summaryOf(await exportJob(job.jobId, ['--json']))).toMatchObject({
      created: false,
      new_params: 0,
      new_values: 0,
    });
    await postPoints(job, pointsTo(900, 700));
    await rig.report(job, 'completed');
    expect(summaryOf(await exportJob(job.jobId, ['--json']))).toMatchObject({
      created: false,
      new_values: 400,
    });
    expect(onlyRun().status).toBe('FINISHED');
    expect(received.metrics).toHaveLength(1_800);
    expect(received.tags.get('mlflow.note.content')).toBe('best so far');
  });

  test('continues an export that failed in the middle', async () => {
    const job = await startExportableJob({ lr: 1 });
    await postPoints(job, pointsTo(1_200));
    let batches = 0;
    mlflow.fail = (request, { metrics }) => {
      if (request !== 'POST runs/log-batch' || metrics === undefined) return null;
      batches += 1;
      return batches > 1 ? 400 : null;
    };
    const failedRun = await exportJob(job.jobId);
    expect(failedRun).toMatchObject({ code: 7, out: '' });
    expect(failedRun.err).toBe('MLflow refused runs/log-batch (400): out of order\n');
    mlflow.fail = () => null;
    expect((await exportJob(job.jobId)).code).toBe(0);
    const metricSteps = onlyRun().metrics.map(({ key, step }) => `${key} ${step}`);
    expect(metricSteps).toHaveLength(2_400);
    expect(new Set(metricSteps).size).toBe(2_400);
  });

  test('repeats a request after a temporary failure of MLflow', async () => {
    const job = await startExportableJob();
    let failures = 2;
    mlflow.fail = () => (failures-- > 0 ? 503 : null);
    expect((await exportJob(job.jobId)).code).toBe(0);
    expect(mlflow.runs).toHaveLength(1);
  });
});

describe('access to MLflow', () => {
  const token = 'mlflow-secret-token';

  test.each<[string, Record<string, string>, string]>([
    ['a token', { MLFLOW_TRACKING_TOKEN: token }, `Bearer ${token}`],
    [
      'user and password rather than a token',
      { MLFLOW_TRACKING_USERNAME: 'ada', MLFLOW_TRACKING_PASSWORD: 'pä:ss', MLFLOW_TRACKING_TOKEN: token },
      `Basic ${Buffer.from('ada:pä:ss').toString('base64')}`,
    ],
  ])('sends %s from the environment to MLflow', async (_, env, expected) => {
    const job = await startExportableJob();
    mlflow.authorization = expected;
    expect(await exportJob(job.jobId, [], { env })).toMatchObject({ code: 0, err: '' });
  });

  test('explains how to authenticate to MLflow, without showing the credentials', async () => {
    const job = await startExportableJob();
    mlflow.authorization = 'Bearer other';
    const run = await exportJob(job.jobId, [], { env: { MLFLOW_TRACKING_TOKEN: token } });
    expect(run).toMatchObject({ code: 3, out: '' });
    expect(run.err).toContain('refuses access (401). Set MLFLOW_TRACKING_TOKEN');
    expect(run.err).not.toContain(token);
    const broken = await exportJob(job.jobId, [], { env: { MLFLOW_TRACKING_TOKEN: `${token}\nX: y` } });
    expect(broken).toMatchObject({ code: 2, out: '' });
    expect(broken.err).not.toContain(token);
  });

  test.each([
    ['https://ada:hunter2@mlflow.lan', 'MLFLOW_TRACKING_PASSWORD'],
    ['databricks', 'must have an address such as'],
    ['sqlite:///mlflow.db', 'must have an address such as'],
    ['', 'with --tracking-uri'],
  ])('refuses the MLflow address %j before it reads the job', async (address, message) => {
    const run = await exportJob('j_none', ['--tracking-uri', address]);
    expect(run).toMatchObject({ code: 2, out: '' });
    expect(run.err).toContain(message);
    expect(run.err).not.toContain('hunter2');
  });

  test('warns when MLflow credentials would be sent unencrypted', async () => {
    const env = { MLFLOW_TRACKING_TOKEN: token };
    const run = await exportJob('j_none', ['--tracking-uri', 'http://mlflow.invalid'], { env });
    expect(run.err).toContain('Warning: the credentials for MLflow travel unencrypted');
  });

  test('reports when another program or no program answers at the MLflow address', async () => {
    const job = await startExportableJob();
    const page = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    await new Promise(resolve => page.once('listening', resolve));
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const htmlRun = await exportJob(job.jobId, ['--tracking-uri', url]);
    expect(htmlRun).toMatchObject({
      code: 1,
      err: expect.stringContaining('did not answer as MLflow does (200)'),
    });
    await new Promise(resolve => page.close(resolve));
    const unreachableRun = await exportJob(job.jobId, ['--tracking-uri', url]);
    expect(unreachableRun).toMatchObject({
      code: 6,
      err: expect.stringContaining('cannot be reached: connection refused'),
    });
  });

  test('refuses to export to a deleted experiment, or a job that has not started', async () => {
    const job = await startExportableJob();
    mlflow.experiments.set('trainyard', { id: '9', lifecycle_stage: 'deleted' });
    expect(await exportJob(job.jobId)).toMatchObject({
      code: 5,
      err: expect.stringContaining('is deleted. Restore it'),
    });
    const pending = await server.submit({ config: {}, worker_labels: { nobody: 'x' } });
    const run = await exportJob(pending);
    expect(run).toMatchObject({ code: 5, err: expect.stringContaining('has not started') });
    expect(mlflow.runs).toEqual([]);
  });

  test('exports no config when the token may not read the config', async () => {
    const job = await startExportableJob({ lr: 1 });
    const create = ['tokens', 'create', 'reader', '--allow', 'queue.view', '--data-dir', server.dataDir];
    const tokenRun = await runTrainyard([...create, '--json']);
    const { token: reader } = JSON.parse(tokenRun.out) as { readonly token: string };
    const args = [
      'jobs',
      'export',
      job.jobId,
      '--to',
      'mlflow',
      '--tracking-uri',
      mlflow.url,
      '--url',
      server.url,
    ];
    const run = await runTrainyard(args, { env: { ADMIN_TOKEN: reader } });
    expect(run).toMatchObject({ code: 0, err: expect.stringContaining('The config was not exported') });
    expect(onlyRun().params.size).toBe(0);
  });
});
