import { readdirSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer, type TestServerOptions, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, sha256, startJob, upload } from '../../support/upload-bench.ts';

const open = async (options: TestServerOptions = {}) => {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  const job = await startJob(server, await openRig(server));
  return { server, job };
};

const content = Buffer.from(crypto.getRandomValues(new Uint8Array(3_000)));
const key = 'checkpoint-10/state.bin';

// Uploads the bytes from `first` to `last`, including both.
const uploadPart = (
  url: string,
  { token }: JobOffer,
  first: number,
  last: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  upload(url, token, key, {
    body: new Uint8Array(content.subarray(first, last + 1)),
    headers: { 'content-range': `bytes ${first}-${last}/${content.length}`, ...headers },
  });

const progress = async (url: string, { token }: JobOffer) => {
  const { status, headers } = await upload(url, token, key, { method: 'HEAD' });
  return [status, headers.get('upload-offset'), headers.get('upload-length'), headers.get('upload-complete')];
};

const listArtifacts = async (server: TestServer, { jobId }: JobOffer) =>
  valueOf(await server.admin.call(artifactsApi.list, { params: { id: jobId }, query: {} })).artifacts;

const storedSizes = ({ dataDir }: { readonly dataDir: string }, { jobId }: JobOffer): readonly number[] => {
  try {
    const folder = join(dataDir, 'artifacts', jobId);
    return readdirSync(folder).map(name => statSync(join(folder, name)).size);
  } catch {
    return [];
  }
};

test('continues an upload in parts, and publishes the file when it is complete', async () => {
  const { server, job } = await open();
  const { url } = server;
  expect(await progress(url, job)).toEqual([404, null, null, null]);
  const first = await uploadPart(url, job, 0, 999);
  expect([first.status, first.headers.get('range'), first.headers.get('upload-offset')]).toEqual([
    308,
    'bytes=0-999',
    '1000',
  ]);
  expect(await progress(url, job)).toEqual([200, '1000', '3000', '?0']);
  expect(await listArtifacts(server, job)).toEqual([]);
  expect((await uploadPart(url, job, 1_000, 1_999)).status).toBe(308);
  const last = await uploadPart(url, job, 2_000, 2_999, { 'x-checksum-sha256': sha256(content) });
  expect([last.status, last.headers.get('etag')]).toEqual([200, `"${sha256(content)}"`]);
  expect(await progress(url, job)).toEqual([200, '3000', '3000', '?1']);
  const downloaded = await upload(url, job.token, key, { method: 'GET' });
  expect(Buffer.from(await downloaded.arrayBuffer()).equals(content)).toBe(true);
});

test('refuses a part that is not the next part, and returns the right offset', async () => {
  const { server, job } = await open();
  const { url } = server;
  const earlyPart = await uploadPart(url, job, 1_000, 1_999);
  expect([earlyPart.status, earlyPart.headers.get('upload-offset')]).toEqual([409, '0']);
  await uploadPart(url, job, 0, 999);
  for (const [first, last] of [
    [2_000, 2_999],
    [500, 1_499],
  ] as const) {
    const wrongPart = await uploadPart(url, job, first, last);
    expect([
      wrongPart.status,
      wrongPart.headers.get('upload-offset'),
      wrongPart.headers.get('range'),
    ]).toEqual([409, '1000', 'bytes=0-999']);
    expect(await wrongPart.json()).toMatchObject({ code: 'upload_offset' });
  }
  const other = await upload(url, job.token, key, {
    body: 'x',
    headers: { 'content-range': 'bytes 1000-1000/1001' },
  });
  expect(other.status).toBe(409);
  expect((await uploadPart(url, job, 1_000, 2_999)).status).toBe(200);
});

test('restarts an upload when its first part is sent again', async () => {
  const { server, job } = await open();
  await uploadPart(server.url, job, 0, 1_999);
  expect((await uploadPart(server.url, job, 0, 999)).headers.get('upload-offset')).toBe('1000');
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([1_000]);
});

test('discards a damaged part, and the whole file when its checksum is wrong', async () => {
  const { server, job } = await open();
  const { url } = server;
  await uploadPart(url, job, 0, 999);
  const digest = Buffer.from(sha256('others'), 'hex').toString('base64');
  const damaged = await uploadPart(url, job, 1_000, 1_999, { 'content-digest': `sha-256=:${digest}:` });
  expect(damaged.status).toBe(400);
  expect(await progress(url, job)).toEqual([200, '1000', '3000', '?0']);
  const whole = await uploadPart(url, job, 1_000, 2_999, { 'x-checksum-sha256': sha256('others') });
  expect(await whole.json()).toMatchObject({ code: 'checksum_mismatch' });
  expect(await progress(url, job)).toEqual([404, null, null, null]);
  expect([await listArtifacts(server, job), storedSizes(server, job)]).toEqual([[], []]);
});

test('continues an upload on a new connection while the stalled connection is still open', async () => {
  const { server, job } = await open();
  const { url } = server;
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `PUT /api/cloud/storage/outputs/${key} HTTP/1.1\r\nHost: ${host}\r\nX-Upload-Token: ${job.token}\r\n` +
      'Content-Range: bytes 0-2999/3000\r\nContent-Length: 3000\r\n\r\n',
  );
  socket.write(content.subarray(0, 700));
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([700]);
  expect(await progress(url, job)).toEqual([200, '700', '3000', '?0']);
  expect((await uploadPart(url, job, 700, 2_999)).status).toBe(200);
  expect((await listArtifacts(server, job))[0]?.sha256).toBe(sha256(content));
  socket.destroy();
});

test('continues an upload after a restart, and removes uploads that cannot resume', async () => {
  const dataDir = temporaryFolder();
  const first = await startTestServer({ dataDir });
  const job = await startJob(first, await openRig(first));
  await uploadPart(first.url, job, 0, 999);
  const outgoing = request(`${first.url}/api/cloud/storage/outputs/whole.bin`, {
    method: 'PUT',
    headers: { 'x-upload-token': job.token, 'content-length': 5_000 },
  });
  outgoing.on('error', () => undefined);
  outgoing.write('x'.repeat(50));
  await expect
    .poll(() => storedSizes(first, job).toSorted((a, b) => a - b), { timeout: 10_000 })
    .toEqual([50, 1_000]);
  await first.close();
  const second = await startTestServer({ dataDir });
  onTestFinished(() => second.close());
  expect(await progress(second.url, job)).toEqual([200, '1000', '3000', '?0']);
  expect((await uploadPart(second.url, job, 1_000, 2_999)).status).toBe(200);
  expect((await listArtifacts(second, job)).map(({ sha256: hash }) => hash)).toEqual([sha256(content)]);
  await expect.poll(() => storedSizes(second, job), { timeout: 10_000 }).toEqual([3_000]);
});

test('counts the announced size of a file towards the quota from its first part on', async () => {
  const { server, job } = await open({
    config: { storage: { perJob: 4_000, inAll: 9_000, keepCheckpoints: 0, reserve: 0 } },
  });
  expect((await uploadPart(server.url, job, 0, 9)).status).toBe(308);
  const other = await upload(server.url, job.token, 'other', { body: 'x'.repeat(1_001) });
  expect([other.status, ((await other.json()) as { code: unknown }).code]).toEqual([413, 'quota_exceeded']);
  expect((await uploadPart(server.url, job, 10, 2_999)).status).toBe(200);
});

test('refuses uploads that would use the reserve of the disk', async () => {
  const { server, job } = await open({
    config: {
      storage: { perJob: 4_000, inAll: 9_000, keepCheckpoints: 0, reserve: Number.MAX_SAFE_INTEGER },
    },
  });
  const answer = await upload(server.url, job.token, 'a', { body: 'x' });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([507, '1']);
  expect(storedSizes(server, job)).toEqual([]);
});

test('aborts an upload that is too slow, and accepts a steady upload that takes longer than the request timeout', async () => {
  const { server, job } = await open({
    uploadPace: { spanMs: 400, minBytes: 10 },
    socketLimits: { headersMs: 5_000, requestMs: 600, idleMs: 5_000, checkMs: 50, maxWaiting: 100 },
  });
  const send = (name: string, piece: number, everyMs: number): Promise<number | null> =>
    new Promise(resolve => {
      const outgoing = request(`${server.url}/api/cloud/storage/outputs/${name}`, {
        method: 'PUT',
        headers: { 'x-upload-token': job.token, 'content-length': 600 },
      });
      let left = 600;
      const timer = setInterval(() => {
        const bytes = Math.min(left, piece);
        left -= bytes;
        outgoing.write('x'.repeat(bytes));
        if (left > 0) return;
        clearInterval(timer);
        outgoing.end();
      }, everyMs);
      const end = (status: number | null): void => {
        clearInterval(timer);
        resolve(status);
      };
      outgoing.once('response', response => end(response.resume().statusCode ?? 0));
      outgoing.once('error', () => end(null));
    });
  const [slow, steady] = await Promise.all([send('slow', 1, 100), send('steady', 30, 60)]);
  expect([slow, steady]).toEqual([null, 200]);
  expect((await listArtifacts(server, job)).map(each => each.key)).toEqual(['steady']);
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([600]);
});

test('answers 100 Continue to a JSON request that expects it', async () => {
  const { server } = await open();
  const body = JSON.stringify({ name: 'rig-asked' });
  const status = await new Promise<number>((resolve, reject) => {
    const outgoing = request(`${server.url}/api/admin/workers`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.adminToken}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
      },
    });
    outgoing.once('continue', () => outgoing.end(body));
    outgoing.once('response', response => resolve(response.resume().statusCode ?? 0));
    outgoing.once('error', reject);
    outgoing.flushHeaders();
  });
  expect(status).toBe(200);
});

test('refuses an invalid upload token before the body when the client waits for 100 Continue', async () => {
  const { server, job } = await open();
  const uploadExpectingContinue = (token: string): Promise<readonly [number, boolean]> =>
    new Promise((resolve, reject) => {
      let hasContinued = false;
      const outgoing = request(`${server.url}/api/cloud/storage/outputs/asked`, {
        method: 'PUT',
        headers: { 'x-upload-token': token, 'content-length': 3_000, expect: '100-continue' },
      });
      outgoing.once('continue', () => {
        hasContinued = true;
        outgoing.end(content);
      });
      outgoing.once('response', response => resolve([response.resume().statusCode ?? 0, hasContinued]));
      outgoing.once('error', reject);
      outgoing.flushHeaders();
    });
  expect(await uploadExpectingContinue('tu_wrong')).toEqual([401, false]);
  expect(await uploadExpectingContinue(job.token)).toEqual([200, true]);
});
