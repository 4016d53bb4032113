import { writeFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createRenewCall } from '../../../agent/connection/api-client.ts';
import { systemClock } from '../../../agent/clock.ts';
import { openNetwork, usualTrust } from '../../../agent/connection/network.ts';
import { openStorage } from '../../../agent/artifacts/storage.ts';
import { uploadFile } from '../../../agent/artifacts/upload.ts';
import { workersApi } from '../../../protocol/admin-api.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type Rig, sha256, startJob, upload } from '../../support/upload-bench.ts';

const open = async (dataDir?: string) => {
  const server = await startTestServer(dataDir === undefined ? {} : { dataDir });
  onTestFinished(() => server.close());
  const rig = await openRig(server);
  return { server, rig, job: await startJob(server, rig) };
};
const rotate = async (server: TestServer, { id }: Rig, mode: 'now' | 'after_job' = 'now'): Promise<string> =>
  valueOf(await server.admin.call(workersApi.rotateToken, { params: { id }, body: { mode } })).token;
const codeOf = async (answer: Response): Promise<unknown> => [
  answer.status,
  ((await answer.json()) as { readonly code?: unknown }).code ?? null,
];
const uploadText = async (server: TestServer, token: string, key = 'a'): Promise<unknown> =>
  codeOf(await upload(server.url, token, key, { body: 'x' }));
const renew = (server: TestServer, workerToken: string, uploadToken: string): Promise<Response> =>
  fetch(`${server.url}/api/workers/upload-token`, {
    method: 'POST',
    headers: { 'x-worker-token': workerToken, 'content-type': 'application/json' },
    body: JSON.stringify({ upload_token: uploadToken }),
  });
const renewedToken = async (...call: Parameters<typeof renew>): Promise<string> =>
  ((await (await renew(...call)).json()) as { readonly upload_token: string }).upload_token;

test('invalidates an upload token when the worker token is rotated, and exchanges the upload token for a new one', async () => {
  const { server, rig, job } = await open();
  expect(await uploadText(server, job.token)).toEqual([200, null]);
  const token = await rotate(server, rig);
  expect(await uploadText(server, job.token)).toEqual([401, 'upload_token_rotated']);
  expect(await codeOf(await renew(server, rig.token, job.token))).toEqual([401, 'token_invalid']);
  const next = await renewedToken(server, token, job.token);
  expect(await uploadText(server, next)).toEqual([200, null]);
  const secondWorkerToken = await rotate(server, rig);
  expect(await uploadText(server, next)).toEqual([401, 'upload_token_rotated']);
  expect(await uploadText(server, await renewedToken(server, secondWorkerToken, job.token))).toEqual([
    200,
    null,
  ]);
});

test('keeps an upload token until the job ends when the rotation waits for the job', async () => {
  const { server, rig, job } = await open();
  const token = await rotate(server, rig, 'after_job');
  expect(await uploadText(server, job.token)).toEqual([200, null]);
  // Until the job ends, both worker tokens get the old upload token, which expires with the old worker token.
  expect(await renewedToken(server, rig.token, job.token)).toBe(job.token);
  expect(await renewedToken(server, token, job.token)).toBe(job.token);
  await rig.report(job, 'completed');
  await server.watch.jobEnd(job.jobId);
  expect(await uploadText(server, job.token)).toEqual([401, 'upload_token_rotated']);
  expect(await uploadText(server, await renewedToken(server, token, job.token))).toEqual([200, null]);
});

test('does not store a file whose upload token was rotated during the upload', async () => {
  const { server, rig, job } = await open();
  const range = (first: number) => ({ 'content-range': `bytes ${first}-${first}/2` });
  const first = await upload(server.url, job.token, 'a', { body: 'x', headers: range(0) });
  expect(first.status).toBe(308);
  const token = await rotate(server, rig);
  const second = await upload(server.url, job.token, 'a', { body: 'x', headers: range(1) });
  expect(await codeOf(second)).toEqual([401, 'upload_token_rotated']);
  const next = await renewedToken(server, token, job.token);
  const last = await upload(server.url, next, 'a', { body: 'x', headers: range(1) });
  expect(last.status).toBe(200);
});

test("exchanges only upload tokens of the worker's own attempts that may still upload", async () => {
  const { server, rig, job } = await open();
  const other = await openRig(server, 'rig-2');
  const renewRefusal = async (worker: string, token: string): Promise<unknown> =>
    codeOf(await renew(server, worker, token));
  expect(await renewRefusal(other.token, job.token)).toEqual([403, 'not_your_job']);
  expect(await renewRefusal(rig.token, `${job.token}.1`)).toEqual([403, 'not_your_job']);
  expect(await renewRefusal(rig.token, 'x'.repeat(301))).toEqual([400, 'invalid_request']);
  await rig.report(job, 'failed', { exit_code: 1 });
  expect(await renewRefusal(rig.token, job.token)).toEqual([401, 'uploads_closed']);
});

test('closes the uploads of a deleted worker', async () => {
  const { server, rig, job } = await open();
  await rig.report(job, 'completed', { uploads_pending: true });
  await fetch(`${server.url}/api/workers/disconnect`, {
    method: 'POST',
    headers: { 'x-worker-token': rig.token, 'content-type': 'application/json' },
    body: '{}',
  });
  valueOf(await server.admin.call(workersApi.remove, { params: { id: rig.id } }));
  expect(await uploadText(server, job.token)).toEqual([401, 'uploads_closed']);
});

test('continues an upload of the agent with a new upload token after a rotation', async () => {
  const { server, rig, job } = await open();
  const content = crypto.getRandomValues(new Uint8Array(50_000));
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, content);
  const { mtimeMs: changedAt } = statSync(path);
  let workerToken = rig.token;
  const send = openNetwork(usualTrust);
  let parts = 0;
  const storage = openStorage(
    { endpoint: '/api/cloud/storage', token: job.token },
    {
      url: server.url,
      clock: systemClock,
      renew: createRenewCall({ url: server.url, token: () => workerToken, fetch: send }),
      async send(url, init) {
        if (init.method === 'PUT' && (parts += 1) === 3) workerToken = await rotate(server, rig);
        return send(url, init);
      },
    },
  );
  const result = await uploadFile(
    { key: 'big', path, bytes: content.length, changedAt, sha256: sha256(content) },
    {
      storage,
      clock: systemClock,
      random: () => 0,
      signal: new AbortController().signal,
      sizes: { wholeUpTo: 10_000, part: 10_000 },
    },
  );
  expect(result).toEqual({ kind: 'uploaded' });
  const query = { params: { id: job.jobId }, query: {} };
  const { artifacts } = valueOf(await server.admin.call(artifactsApi.list, query));
  expect(artifacts.map(each => each.sha256)).toEqual([sha256(content)]);
});
