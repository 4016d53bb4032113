/** Jobs that take files of other jobs as inputs. */
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

const put = async (key: string, body = key, offer: JobOffer = parent): Promise<void> => {
  expect((await upload(server.url, offer.token, key, { body })).status).toBe(200);
};
const complete = (offer: JobOffer = parent, hasPendingUploads = false): Promise<Response> =>
  rig.report(offer, 'completed', { uploads_pending: hasPendingUploads });
const submissionWithInput = (file: string, more: Partial<Submission> = {}): Submission => ({
  config: {},
  inputs: [{ name: 'lora', from: parent.jobId, file }],
  ...more,
});
const read = (offer: JobOffer, path: string, headers = {}): Promise<Response> =>
  upload(server.url, offer.token, path, { bucket: 'inputs', method: 'GET', headers });
const detail = async (id: JobId) => valueOf(await server.admin.call(queueApi.get, { params: { id } }));
const explain = async (id: JobId) => valueOf(await server.admin.call(queueApi.explain, { params: { id } }));
const waitingReason = async (id: JobId): Promise<string | null> => (await explain(id)).summary;
/** Submits a job that takes this file as input, and returns the offer of that job. The only worker must be idle. */
async function offerChildWith(file: string): Promise<JobOffer> {
  await server.submit(submissionWithInput(file));
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
  test("lists the files of each input, and allows the attempt's token to read only these files", async () => {
    await put('out/lora.safetensors', 'weights');
    await put('secret.txt');
    await complete();
    const child = await offerChildWith('result');
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
    const writeResponse = await upload(server.url, child.token, 'lora/x', { bucket: 'inputs', body: 'x' });
    expect(writeResponse.status).toBe(403);
    await rig.report(child, 'failed', { exit_code: 1 });
    expect((await read(child, 'lora/lora.safetensors')).status).toBe(401);
  });

  test('offers the same input files to the next attempt, and no inputs to a job without inputs', async () => {
    expect(parent.inputs).toBeUndefined();
    await put('a.safetensors');
    await complete();
    const child = await offerChildWith('result');
    for (const status of ['starting', 'running']) await rig.report(child, status);
    expect((await read(parent, 'lora/a.safetensors')).status).not.toBe(200);
    await rig.register();
    const secondOffer = await rig.nextOffer();
    expect(secondOffer.attemptId).not.toBe(child.attemptId);
    expect(secondOffer.inputs).toEqual(child.inputs);
  });

  test('offers the file of the newest successful retry of the parent', async () => {
    await put('lora.safetensors', 'first');
    await complete();
    await server.admin.call(queueApi.retry, { params: { id: parent.jobId } });
    const retryOffer = await rig.nextOffer();
    await rig.report(retryOffer, 'running');
    await put('lora.safetensors', 'second', retryOffer);
    await complete(retryOffer);
    const child = await offerChildWith('result');
    expect(child.inputs?.[0]?.files[0]?.sha256).toBe(sha256('second'));
    expect((await detail(child.jobId)).inputs[0]).toMatchObject({
      job_id: parent.jobId,
      source: { job_id: retryOffer.jobId, key: 'lora.safetensors' },
    });
  });

  test('offers the files of a failed parent to a child that waits for any end of the parent', async () => {
    await put('checkpoint-100.pt');
    const child = await server.submit(submissionWithInput('checkpoint newest', { after_on: 'end' }));
    await rig.report(parent, 'failed', { exit_code: 1 });
    const childOffer = await rig.nextOffer();
    expect([childOffer.jobId, childOffer.inputs?.[0]?.path]).toEqual([child, 'checkpoint-100.pt']);
  });
});

describe('a job that waits for input files', () => {
  test('starts a child when its parent has uploaded all files', async () => {
    const child = await server.submit(submissionWithInput('result'));
    await complete(parent, true);
    expect(await waitingReason(child)).toBe('Waits for base, which is still uploading its files');
    expect((await detail(child)).after?.parents).toMatchObject([
      { status: 'completed', done: false, trouble: 'is still uploading its files' },
    ]);
    await put('lora.safetensors');
    expect(await waitingReason(child)).toContain('still uploading');
    const headers = { 'x-upload-token': parent.token, 'content-type': 'application/json' };
    const body = JSON.stringify({ files: 0, bytes: 0 });
    const report = await fetch(server.url + storageApi.outstanding.path, { method: 'PUT', headers, body });
    expect(report.status).toBe(200);
    expect((await rig.nextOffer()).jobId).toBe(child);
  });

  test('keeps a child pending when the uploads of its parent were given up, until a retry of the parent completes', async () => {
    const child = await server.submit(submissionWithInput('result'));
    await complete(parent, true);
    await server.admin.call(artifactsApi.giveUp, { params: { id: parent.jobId } });
    expect(await waitingReason(child)).toBe(
      'Waits for base, which has no final model (input lora). Retry that job, submit this one again with another file, or cancel it',
    );
    expect((await explain(child)).reasons[0]?.params).toMatchObject({ state: 'completed', files: 'missing' });
    await server.admin.call(queueApi.retry, { params: { id: parent.jobId } });
    const retryOffer = await rig.nextOffer();
    await rig.report(retryOffer, 'running');
    await put('lora.safetensors', 'x', retryOffer);
    await complete(retryOffer);
    expect((await rig.nextOffer()).jobId).toBe(child);
  });

  test('starts a child when its input file is uploaded after the end of the parent', async () => {
    const child = await server.submit(submissionWithInput('late.safetensors'));
    await complete();
    expect(await waitingReason(child)).toContain('has no file late.safetensors');
    await put('late.safetensors');
    expect((await rig.nextOffer()).jobId).toBe(child);
  });

  test("names the workers that cannot fetch input files, among them SimpleTuner's own worker", async () => {
    await put('lora.safetensors');
    await complete();
    await openRig(server, 'rig-old');
    await openRig(server, 'rig-v1', { protocol: 1 });
    const busy = await startJob(server, rig, { worker_labels: {} }).catch(() => null);
    expect(busy).not.toBeNull();
    const child = await server.submit(submissionWithInput('result'));
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

describe('a submission with inputs', () => {
  const createClient = async (name: string, permissions: Permission[]) => {
    const { token } = valueOf(await server.admin.call(tokensApi.create, { body: { name, permissions } }));
    return adminClient(server.url, token);
  };

  test('refuses a submission when the user may not see the job of an input', async () => {
    await put('lora.safetensors');
    await complete();
    const ada = await createClient('ada', ['queue.submit']);
    expect(await refusalOf(submissionWithInput('result'), ada)).toEqual([
      'job_not_found',
      `There is no job ${parent.jobId} to wait for`,
    ]);
    const bob = await createClient('bob', ['queue.submit', 'queue.view']);
    expect((await bob.call(queueApi.submit, { body: submissionWithInput('result') })).ok).toBe(true);
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
  ])(
    'refuses a submission with the inputs or config %j',
    async ({ file = 'result', name = 'lora', ...more }, code, fieldPattern) => {
      const inputs = [{ name, from: parent.jobId, file }];
      const [actualCode, field] = (await refusalOf({ config: {}, inputs, ...more })) as readonly [
        string,
        string,
      ];
      expect([actualCode, field]).toEqual([code, expect.stringMatching(fieldPattern)]);
    },
  );

  test('refuses a repeated input name, and an input file whose name a trainer could expand as a variable', async () => {
    const [input] = submissionWithInput('result').inputs ?? [];
    if (input === undefined) throw new Error('no input');
    expect(await refusalOf({ config: {}, inputs: [input, input] })).toEqual(['invalid_request', 'inputs']);
    await put('${HF_TOKEN}.bin');
    await complete();
    expect(await refusalOf(submissionWithInput('${HF_TOKEN}.bin'))).toEqual([
      'artifact_not_found',
      expect.stringContaining('whose name a trainer could expand'),
    ]);
  });

  test("refuses to continue from another trainer's checkpoint, but accepts its weights", async () => {
    const kohya = {
      $trainer: 'kohya',
      script: 'sdxl_train_network.py',
      network_module: 'networks.lora',
      max_train_steps: 1_000,
    };
    const base = await server.submit({ config: kohya });
    const submission = (config: object, file: string): Submission => ({
      config: { ...config },
      inputs: [{ name: 'base', from: base, file }],
    });
    const toolkit = { job: 'extension', config: { name: 'portrait', process: [{ type: 'sd_trainer' }] } };
    expect(await refusalOf(submission(toolkit, 'state newest'))).toEqual([
      'config_invalid',
      `ai-toolkit cannot continue from a checkpoint of kohya's sd-scripts, which job ${base} uses: take only its weights, with "checkpoint" instead of "state"`,
    ]);
    for (const accepted of [
      submission(toolkit, 'checkpoint newest'),
      submission(kohya, 'state newest'),
      submission({ $trainer: 'command' }, 'state newest'),
    ])
      expect(await server.admin.call(queueApi.submit, { body: accepted })).toMatchObject({ ok: true });
  });

  test('offers the same input files to a retry, and refuses a retry when the parent was deleted', async () => {
    await put('lora.safetensors');
    await complete();
    const child = await offerChildWith('result');
    await rig.report(child, 'completed');
    await server.admin.call(queueApi.retry, { params: { id: child.jobId } });
    const secondOffer = await rig.nextOffer();
    expect(secondOffer.inputs).toEqual(child.inputs);
    await rig.report(secondOffer, 'completed');
    valueOf(await server.admin.call(queueApi.remove, { params: { id: parent.jobId } }));
    const response = await server.admin.call(queueApi.retry, { params: { id: child.jobId } });
    expect(response).toMatchObject({
      failure: { problem: { code: 'artifact_not_found', detail: `Job ${parent.jobId} was deleted` } },
    });
  });
});
