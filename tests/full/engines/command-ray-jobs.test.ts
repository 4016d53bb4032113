import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LaunchId } from '../../../protocol/ids.ts';
import { joinToken, orderOf, testEngineContract } from '../../support/engine-contract.ts';
import { type RecordedCall, engineOn, installExample } from '../../support/example-engine.ts';
import { type FakeApi, startRayApi } from '../../support/job-apis.ts';

const folder = installExample('ray-jobs');
const calls: RecordedCall[] = [];
let api: FakeApi;
beforeAll(async () => {
  api = await startRayApi();
});
afterAll(() => api.stop());

const engineOf = (fleet: string, url = api.url) =>
  engineOn(folder, fleet, { RAY_API_SERVER_ADDRESS: url }, calls);
const order = (id: string) => orderOf(LaunchId.parse(id), { gpus: 1 });

testEngineContract(() => ({
  engine: engineOf,
  shape: { nodes: 1, gpus: 1 },
  unreachable: fleet => engineOf(fleet, 'http://127.0.0.1:1'),
}));

test('submits a Ray job whose entrypoint runs the start commands of the launch', async () => {
  await engineOf('t1').launch(order('a'));
  const job = api.items.get('trainyard-t1-a');
  expect(job).toMatchObject({
    entrypoint_num_gpus: 1,
    runtime_env: { env_vars: { TRAINYARD_JOIN: joinToken, RAY_JOB_STOP_WAIT_TIME_S: '120' } },
  });
  expect(String(job?.['entrypoint'])).not.toContain(joinToken);
  expect(execFileSync('sh', ['-c', String(job?.['entrypoint'])], { encoding: 'utf8', timeout: 10_000 })).toBe(
    'gpu-a\n',
  );
  expect(JSON.stringify(calls.map(({ argv }) => argv))).not.toContain(joinToken);
});

test('reports why a Ray job is pending', async () => {
  const engine = engineOf('t2');
  api.items.set('trainyard-t2-a', {
    type: 'SUBMISSION',
    submission_id: 'trainyard-t2-a',
    status: 'PENDING',
    message: 'Job has not started yet. It may be waiting for resources (CPUs, GPUs) to become available.',
  });
  expect((await engine.list()).get(LaunchId.parse('a'))).toMatchObject({
    state: 'waiting',
    reason: { kind: 'resources', text: expect.stringContaining('not started yet') },
  });
});

test.each([
  ['rejected', 400, 'Traceback (most recent call last):\nTypeError: entrypoint must be a string'],
  ['unknown', 500, 'No available agent to submit job, please try again later.'],
])('reports a launch as %s when the Ray API answers %d', async (kind, status, text) => {
  api.refuse(status, text);
  expect(await engineOf('t3').launch(order(`r${status}`))).toMatchObject({
    kind,
    message: expect.stringContaining(text.split('\n').at(-1) ?? ''),
  });
});
