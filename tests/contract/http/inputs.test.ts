/** Files of other jobs as inputs of a job, as workers and people see them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Permission } from '../../../protocol/call.ts';
import type { CallInput } from '../../../protocol/client.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { storageApi } from '../../../protocol/storage-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, sha256, startJob, upload } from '../../support/upload-bench.ts';

type Submission = NonNullable<CallInput<typeof queueApi.submit>['body']>;

let server: TestServer;
let rig: Rig;
let parent: JobOffer;
beforeEach(async () => {
  server = await startTestServer();
  rig = await openRig(server, 'rig-1', { fetches_inputs: true });
  parent = await startJob(server, rig, { name: 'base' });
});
afterEach(() => server.close());

const put = async (key: string, body = key, of: JobOffer = parent): Promise<void> => {
  expect((await upload(server.url, of.token, key, { body })).status).toBe(200);
};
const complete = (of: JobOffer = parent, isPending = false): Promise<Response> =>
  rig.report(of, 'completed', { uploads_pending: isPending });
const taking = (file: string, more: Partial<Submission> = {}): Submission => ({
  config: {},
  inputs: [{ name: 'lora', from: parent.jobId, file }],
  ...more,
});
const read = (of: JobOffer, path: string, headers = {}): Promise<Response> =>
  upload(server.url, of.token, path, { bucket: 'inputs', method: 'GET', headers });
const detail = async (id: JobId) => valueOf(await server.admin.call(queueApi.get, { params: { id } }));
const explain = async (id: JobId) => valueOf(await server.admin.call(queueApi.explain, { params: { id } }));
const waitsFor = async (id: JobId): Promise<string | null> => (await explain(id)).summary;
/** A job for which the only worker is free. */
async function offeredFor(file: string): Promise<JobOffer> {
  await server.submit(taking(file));
  return rig.nextOffer();
}
const refusalOf = async (body: Submission, client = server.admin): Promise<unknown> => {
  const answer = await client.call(queueApi.submit, { body });
  if (answer.ok || answer.failure.kind !== 'problem') throw new Error(JSON.stringify(answer));
  return [
    answer.failure.problem.code,
    answer.failure.problem.errors?.[0]?.field ?? answer.failure.problem.detail,
  ];
};

describe('the offer to a worker', () => {
  test('lists the files of each input, which the token of the attempt can read, and no others', async () => {
    await put('out/lora.safetensors', 'weights');
    await put('secret.txt');
    await complete();
    const child = await offeredFor('result');
    const file = { path: 'lora.safetensors', bytes: 7, sha256: sha256('weights') };
    expect(child.inputs).toEqual([{ name: 'lora', path: 'lora.safetensors', files: [file] }]);
    const whole = await read(child, 'lora/lora.safetensors');
    expect([whole.status, await whole.text()]).toEqual([200, 'weights']);
    expect(whole.headers.get('etag')).toBe(`"${sha256('weights')}"`);
    const rest = await read(child, 'lora/lora.safetensors', { range: 'bytes=3-' });
    expect([rest.status, await rest.text()]).toEqual([206, 'ghts']);
    for (const path of [
      'lora/secret.txt',
      'lora/out/lora.safetensors',
      'secret.txt',
      'other/lora.safetensors',
    ])
      expect((await read(child, path)).status).toBe(404);
    const isWritable = await upload(server.url, child.token, 'lora/x', { bucket: 'inputs', body: 'x' });
    expect(isWritable.status).toBe(403);
    await rig.report(child, 'failed', { exit_code: 1 });
    expect((await read(child, 'lora/lora.safetensors')).status).toBe(401);
  });

  test('gives a further attempt the same files while they exist, and a job that takes none nothing', async () => {
    expect(parent.inputs).toBeUndefined();
    await put('a.safetensors');
    await complete();
    const child = await offeredFor('result');
    for (const status of ['starting', 'running']) await rig.report(child, status);
    expect((await read(parent, 'lora/a.safetensors')).status).not.toBe(200);
    await rig.register();
    const again = await rig.nextOffer();
    expect(again.attemptId).not.toBe(child.attemptId);
    expect(again.inputs).toEqual(child.inputs);
  });

  test('takes the file of the newest successful retry of the parent', async () => {
    await put('lora.safetensors', 'first');
    await complete();
    await server.admin.call(queueApi.retry, { params: { id: parent.jobId } });
    const retried = await rig.nextOffer();
    await rig.report(retried, 'running');
    await put('lora.safetensors', 'second', retried);
    await complete(retried);
    const child = await offeredFor('result');
    expect(child.inputs?.[0]?.files[0]?.sha256).toBe(sha256('second'));
    expect((await detail(child.jobId)).inputs[0]).toMatchObject({
      job_id: parent.jobId,
      source: { job_id: retried.jobId, key: 'lora.safetensors' },
    });
  });

  test('takes the files of a failed parent if the job starts after any end', async () => {
    await put('checkpoint-100.pt');
    const child = await server.submit(taking('checkpoint newest', { after_on: 'end' }));
    await rig.report(parent, 'failed', { exit_code: 1 });
    const offered = await rig.nextOffer();
    expect([offered.jobId, offered.inputs?.[0]?.path]).toEqual([child, 'checkpoint-100.pt']);
  });
});

describe('the wait for files', () => {
  test('lasts until the parent has uploaded them', async () => {
    const child = await server.submit(taking('result'));
    await complete(parent, true);
    expect(await waitsFor(child)).toBe('Waits for base, which is still uploading its files');
    expect((await detail(child)).after?.parents).toMatchObject([
      { status: 'completed', done: false, trouble: 'is still uploading its files' },
    ]);
    await put('lora.safetensors');
    expect(await waitsFor(child)).toContain('still uploading');
    const headers = { 'x-upload-token': parent.token, 'content-type': 'application/json' };
    const body = JSON.stringify({ files: 0, bytes: 0 });
    const report = await fetch(server.url + storageApi.outstanding.path, { method: 'PUT', headers, body });
    expect(report.status).toBe(200);
    expect((await rig.nextOffer()).jobId).toBe(child);
  });

  test('keeps the reason if the missing files are given up, and loses it when a retry has the files', async () => {
    const child = await server.submit(taking('result'));
    await complete(parent, true);
    await server.admin.call(artifactsApi.giveUp, { params: { id: parent.jobId } });
    expect(await waitsFor(child)).toBe(
      'Waits for base, which has no final model (input lora). Retry that job, or cancel this one',
    );
    expect((await explain(child)).reasons[0]?.params).toMatchObject({ state: 'completed', files: 'missing' });
    await server.admin.call(queueApi.retry, { params: { id: parent.jobId } });
    const retried = await rig.nextOffer();
    await rig.report(retried, 'running');
    await put('lora.safetensors', 'x', retried);
    await complete(retried);
    expect((await rig.nextOffer()).jobId).toBe(child);
  });

  test('ends when the trainer uploads the file after its own end', async () => {
    const child = await server.submit(taking('late.safetensors'));
    await complete();
    expect(await waitsFor(child)).toContain('has no file late.safetensors');
    await put('late.safetensors');
    expect((await rig.nextOffer()).jobId).toBe(child);
  });

  test('has its reason for workers that cannot fetch such files, also for the agent of SimpleTuner', async () => {
    await put('lora.safetensors');
    await complete();
    await openRig(server, 'rig-old');
    await openRig(server, 'rig-v1', { protocol: 1 });
    const busy = await startJob(server, rig, { worker_labels: {} }).catch(() => null);
    expect(busy).not.toBeNull();
    const child = await server.submit(taking('result'));
    const { workers } = await explain(child);
    const reasons = workers.filter(({ name }) => name !== 'rig-1').map(each => each.reasons[0]);
    expect(reasons).toEqual(
      Array.from({ length: 2 }, () => ({
        code: 'inputs',
        wanted: 'a worker that fetches files of other jobs',
        there: 'none',
        detail:
          'Inputs: the job takes files of other jobs, and this worker cannot fetch them. Update the worker',
      })),
    );
  });
});

describe('a submission', () => {
  const enrol = async (name: string, permissions: Permission[]) => {
    const { token } = valueOf(await server.admin.call(tokensApi.create, { body: { name, permissions } }));
    return adminClient(server.url, token);
  };

  test('is refused when the user may not see the job that has the file', async () => {
    await put('lora.safetensors');
    await complete();
    const ada = await enrol('ada', ['queue.submit']);
    expect(await refusalOf(taking('result'), ada)).toEqual([
      'job_not_found',
      `There is no job ${parent.jobId} to wait for`,
    ]);
    const bob = await enrol('bob', ['queue.submit', 'queue.view']);
    expect((await bob.call(queueApi.submit, { body: taking('result') })).ok).toBe(true);
  });

  test.each<[Partial<Submission> & { readonly file?: string; readonly name?: string }, string, RegExp]>([
    [{ file: '../secret' }, 'invalid_request', /^inputs/],
    [{ file: '/etc/passwd' }, 'invalid_request', /^inputs/],
    [{ file: 'a//b' }, 'invalid_request', /^inputs/],
    [{ file: String.raw`..\secret` }, 'invalid_request', /^inputs/],
    [{ name: '../up' }, 'invalid_request', /^inputs/],
    [{ name: 'nul' }, 'invalid_request', /^inputs/],
    [{ name: 'Lora' }, 'invalid_request', /^inputs/],
    [{ config: { lora: '{{inputs.lroa}}' } }, 'config_invalid', /no input with this name/],
    [{ config: { lora: ['{{ inputs. }}'] } }, 'config_invalid', /no input with this name/],
  ])('is refused with %j', async ({ file = 'result', name = 'lora', ...more }, code, about) => {
    const inputs = [{ name, from: parent.jobId, file }];
    const [found, field] = (await refusalOf({ config: {}, inputs, ...more })) as readonly [string, string];
    expect([found, field]).toEqual([code, expect.stringMatching(about)]);
  });

  test('is refused with a name that is given twice, and for a file that a trainer could expand', async () => {
    const [input] = taking('result').inputs ?? [];
    if (input === undefined) throw new Error('no input');
    expect(await refusalOf({ config: {}, inputs: [input, input] })).toEqual(['invalid_request', 'inputs']);
    await put('${HF_TOKEN}.bin');
    await complete();
    expect(await refusalOf(taking('${HF_TOKEN}.bin'))).toEqual([
      'artifact_not_found',
      expect.stringContaining('whose name a trainer could expand'),
    ]);
  });

  test('of a retry takes the files again, and is refused when they are gone', async () => {
    await put('lora.safetensors');
    await complete();
    const child = await offeredFor('result');
    await rig.report(child, 'completed');
    await server.admin.call(queueApi.retry, { params: { id: child.jobId } });
    const again = await rig.nextOffer();
    expect(again.inputs).toEqual(child.inputs);
    await rig.report(again, 'completed');
    valueOf(await server.admin.call(queueApi.remove, { params: { id: parent.jobId } }));
    const refused = await server.admin.call(queueApi.retry, { params: { id: child.jobId } });
    expect(refused).toMatchObject({
      failure: { problem: { code: 'artifact_not_found', detail: `Job ${parent.jobId} was deleted` } },
    });
  });
});
