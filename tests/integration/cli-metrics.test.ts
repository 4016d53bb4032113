/** `trainyard jobs metrics` in this process, against a server with points of two attempts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { openRig, type JobOffer, startJob } from '../support/upload-bench.ts';

let server: TestServer;
let job: JobOffer;
beforeAll(async () => {
  server = await startTestServer();
  const rig = await openRig(server);
  job = await startJob(server, rig);
  const postPoints = async ({ jobId, attemptId }: JobOffer, values: readonly object[]): Promise<void> => {
    const points = values.map((each, n) => ({ n, elapsed_ms: n * 1_000, step: n + 1, values: each }));
    const answer = await fetch(`${server.url}/api/workers/job/${jobId}/metrics`, {
      method: 'POST',
      headers: { 'x-worker-token': rig.token, 'content-type': 'application/json' },
      body: JSON.stringify({ attempt_id: attemptId, points }),
    });
    expect(answer.status).toBe(200);
  };
  await postPoints(job, [{ loss: 0.8, learning_rate: 1e-5 }, { loss: 0.4 }, { loss: null }]);
  await rig.report(job, 'failed', { cause: 'preempted' });
  const secondOffer = await rig.nextOffer();
  for (const status of ['starting', 'running']) await rig.report(secondOffer, status);
  await postPoints(secondOffer, [{ loss: 0.123456789, 'gpu.0.utilization': 97 }]);
});
afterAll(() => server.close());

const metrics = (args: readonly string[], options?: CliOptions): Promise<CliRun> =>
  runTrainyard(['jobs', 'metrics', ...args, '--data-dir', server.dataDir], options);
const screen = { columns: 120, rows: 40 };

test('prints the latest, lowest and highest values, and draws curves on a terminal', async () => {
  const plain = await metrics([job.jobId]);
  expect(plain).toMatchObject({ code: 0, err: '' });
  expect(plain.out.split('\n')).toEqual([
    expect.stringMatching(/^KEY +LATEST +STEP +LOWEST +HIGHEST$/),
    expect.stringMatching(/^loss +0\.1235 +1 +0\.1235 +0\.8$/),
    expect.stringMatching(/^learning_rate +0\.00001 +1 +0\.00001 +0\.00001$/),
    expect.stringMatching(/^gpu\.0\.utilization +97 +1 +97 +97$/),
    '',
  ]);
  const terminalRun = await metrics([job.jobId.slice(0, 10)], { screen });
  expect(terminalRun.out).toMatch(/^KEY .* CURVE\nloss .* 0\.8 +█▄×┊▁\n/);
});

test('prints only the metrics of the given keys or attempt', async () => {
  const selectedKeys = await metrics([job.jobId, '--keys', 'learning_rate']);
  expect(
    selectedKeys.out
      .split('\n')
      .slice(1, -1)
      .map(line => line.split(' ')[0]),
  ).toEqual(['learning_rate']);
  const first = await metrics([job.jobId, '--attempt', '1', '--keys', 'loss']);
  expect(first.out).toMatch(/\nloss +0\.4 +2 +0\.4 +0\.8\n/);
  const missingAttempt = await metrics([job.jobId, '--attempt', '9']);
  expect(missingAttempt).toMatchObject({ code: 0, out: '' });
  expect(missingAttempt.err).toMatch(/^No matching metrics/);
});

test('prints metrics as JSON, as fields, or as CSV', async () => {
  const answer: unknown = JSON.parse((await metrics([job.jobId, '--json'])).out);
  expect(answer).toMatchObject({ job_id: job.jobId, attempts: [{ attempt: 1 }, { attempt: 2 }] });
  expect((await metrics([job.jobId, '-o', 'key,max'])).out).toBe(
    'loss\t0.8\nlearning_rate\t0.00001\ngpu.0.utilization\t97\n',
  );
  const csv = await metrics([job.jobId, '--csv', '--keys', 'loss', '--attempt', '2']);
  expect(csv.out).toBe(
    'attempt,key,step,elapsed_ms,mean,min,max,last,count,gaps\r\n2,"loss",1,0,0.123456789,0.123456789,0.123456789,0.123456789,1,0\r\n',
  );
});

test.each<[readonly string[], number, RegExp]>([
  [['--csv', '--json'], 2, /Use --csv or --json, not both/],
  [['--keys', 'a,,b'], 2, /Give names separated by commas/],
  [['--attempt', 'two'], 2, /Give a whole number/],
])('exits with 2 for jobs metrics %j', async (args, code, message) => {
  const run = await metrics([job.jobId, ...args]);
  expect(run).toMatchObject({ code, out: '' });
  expect(run.err).toMatch(message);
});

test('exits with 4 when the metrics of an unknown job are read', async () => {
  expect((await metrics(['j_none'])).code).toBe(4);
});
