import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LaunchId } from '../../../protocol/ids.ts';
import { joinToken, orderOf, testEngineContract } from '../../support/engine-contract.ts';
import { type RecordedCall, engineOn, installExample } from '../../support/example-engine.ts';
import { type FakeApi, startRunPodApi } from '../../support/job-apis.ts';

const folder = installExample('runpod');
const calls: RecordedCall[] = [];
let api: FakeApi;
beforeAll(async () => {
  api = await startRunPodApi('rpa_key');
  writeFileSync(join(folder, 'api-key'), 'rpa_key\n', { mode: 0o600 });
});
afterAll(() => api.stop());

const engineOf = (fleet: string, env = {}) => engineOn(folder, fleet, { RUNPOD_URL: api.url, ...env }, calls);
const order = (id: string) => orderOf(LaunchId.parse(id), { gpus: 1 });

testEngineContract(() => ({
  engine: engineOf,
  shape: { nodes: 1, gpus: 1 },
  unreachable: fleet => engineOf(fleet, { RUNPOD_URL: 'http://127.0.0.1:1' }),
}));

test('orders a RunPod pod that starts the worker and deletes itself, without exposing the join token', async () => {
  await engineOf('t1').launch(order('a'));
  const pod = [...api.items.values()].find(({ name }) => name === 'trainyard-t1-a');
  expect(pod).toMatchObject({
    gpuCount: 1,
    computeType: 'GPU',
    env: { TRAINYARD_JOIN: joinToken },
    dockerStartCmd: ['bash', '-c', expect.stringMatching(/timeout --signal=USR1 --kill-after=120 480 sh -c/)],
  });
  expect(JSON.stringify(pod?.['dockerStartCmd'])).not.toContain(joinToken);
  expect(JSON.stringify(calls.map(({ argv }) => argv))).not.toContain(joinToken);
});

test('deletes a stopped RunPod pod, and reports its launch as preempted when the pod was interruptible', async () => {
  const engine = engineOf('t2');
  await engine.launch(order('a'));
  const [id, pod] = [...api.items].find(([, { name }]) => name === 'trainyard-t2-a')!;
  api.items.set(id, { ...pod, desiredStatus: 'EXITED', interruptible: true });
  expect((await engine.list()).get(LaunchId.parse('a'))).toMatchObject({ state: 'ended', exit: 'preempted' });
  expect(await engine.list()).toEqual(new Map());
});

test.each([
  ['temporary', 400, 'There are no longer any instances available with the requested specifications.'],
  ['temporary', 401, 'Unauthorized'],
  ['permanent', 400, 'gpuTypeIds: invalid value'],
])('reports a %s refusal when RunPod answers %d %s', async (scope, status, detail) => {
  api.refuse(status, JSON.stringify({ title: 'Bad Request', status, detail }));
  expect(await engineOf('t3').launch(order(`r${status}${detail.length}`))).toMatchObject({
    kind: 'rejected',
    scope,
    message: detail,
  });
});

test('reports a launch on RunPod as unknown after a server error', async () => {
  api.refuse(502, 'Bad Gateway');
  expect(await engineOf('t4').launch(order('a'))).toMatchObject({ kind: 'unknown' });
});

test('fails the check with 401 when the RunPod API key is wrong', async () => {
  expect(await engineOf('t5', { RUNPOD_API_KEY: 'other' }).check()).toMatchObject({
    ok: false,
    detail: expect.stringContaining('401'),
  });
});
