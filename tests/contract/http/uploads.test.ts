// See docs/internals/faults.md, S17.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { bearer, sendRaw } from '../../support/raw-request.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, sha256, startJob, upload } from '../../support/upload-bench.ts';

let server: TestServer;
let rig: Rig;
let job: JobOffer;
beforeEach(async () => {
  // The quotas are in bytes.
  server = await startTestServer({
    config: { storage: { perJob: 10_000, inAll: 15_000, keepCheckpoints: 0, reserve: 0 } },
  });
  rig = await openRig(server);
  job = await startJob(server, rig);
});
afterEach(() => server.close());

const codeOf = async (response: Response): Promise<readonly [number, unknown]> => [
  response.status,
  ((await response.json()) as { readonly code: unknown }).code,
];
const listArtifacts = async (id = job.jobId) =>
  valueOf(await server.admin.call(artifactsApi.list, { params: { id }, query: {} }));
const download = (key: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${server.url}/api/queue/${job.jobId}/artifacts/${key}`, {
    headers: { authorization: `Bearer ${server.adminToken}`, ...headers },
  });
// Sizes of all stored files on disk.
const storedSizes = (): readonly number[] => {
  const folder = join(server.dataDir, 'artifacts', job.jobId);
  try {
    return readdirSync(folder).map(name => statSync(join(folder, name)).size);
  } catch {
    return [];
  }
};

describe('uploading a file', () => {
  test('stores a file unchanged, and publishes it', async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(5_000));
    const answer = await upload(server.url, job.token, 'checkpoint-500/model.safetensors', { body: bytes });
    const ETag = `"${sha256(bytes)}"`;
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, ETag]);
    expect(await answer.json()).toMatchObject({
      ETag,
      Key: 'checkpoint-500/model.safetensors',
      Bucket: 'outputs',
      artifact: { kind: 'checkpoint', bytes: 5_000, sha256: sha256(bytes), attempt: 1, job_id: job.jobId },
    });
    expect(await listArtifacts()).toMatchObject({
      artifacts: [{ key: 'checkpoint-500/model.safetensors', bytes: 5_000 }],
      count: 1,
      total_bytes: 5_000,
      next_cursor: null,
    });
    const downloaded = await download('checkpoint-500/model.safetensors');
    expect(new Uint8Array(await downloaded.arrayBuffer())).toEqual(bytes);
    expect(Object.fromEntries(downloaded.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename=model.safetensors',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      etag: ETag,
    });
    const part = await download('checkpoint-500/model.safetensors', { range: 'bytes=10-19' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 10-19/5000']);
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(10, 20));
    // Send a raw request, because `fetch` disables caching when it sees such a header.
    const notModified = await sendRaw(server.url, {
      path: `/api/queue/${job.jobId}/artifacts/checkpoint-500/model.safetensors`,
      headers: [bearer(server.adminToken), ['if-none-match', ETag]],
    });
    expect(notModified.status).toBe(304);
    const beyondEnd = await download('checkpoint-500/model.safetensors', { range: 'bytes=9000-' });
    expect(await codeOf(beyondEnd)).toEqual([400, 'invalid_request']);
  });

  test.each([
    ['X-Upload-Token', 'outputs', ''],
    ['X-SimpleTuner-Secret', 'outputs', ''],
    ['X-SimpleTuner-Secret', 'outputs', 'ID/'],
    ['X-Upload-Token', 'ID', ''],
  ])(
    'accepts a file with the header %s for the bucket %s, as SimpleTuner sends it',
    async (header, bucket, prefix) => {
      const withJobId = (text: string): string => text.replace('ID', job.jobId);
      const key = `${withJobId(prefix)}final/lora.safetensors`;
      const answer = await fetch(`${server.url}/api/cloud/storage/${withJobId(bucket)}/${key}`, {
        method: 'PUT',
        headers: { [header]: job.token },
        body: 'weights',
      });
      expect(await answer.json()).toMatchObject({ Key: key, Bucket: withJobId(bucket) });
      expect((await listArtifacts()).artifacts.map(each => [each.key, each.kind])).toEqual([
        ['final/lora.safetensors', 'final_model'],
      ]);
      const listStatus = await upload(server.url, job.token, '', { method: 'GET' }).then(each => each.status);
      expect(listStatus).toBe(200);
    },
  );

  test('serves a file only to the trainers of its job', async () => {
    await upload(server.url, job.token, 'a.txt', { body: 'one' });
    const list = await fetch(`${server.url}/api/cloud/storage/outputs`, {
      headers: { 'x-upload-token': job.token },
    });
    expect(await list.json()).toMatchObject({
      Name: 'outputs',
      Contents: [{ Key: 'a.txt', Size: 3, ETag: `"${sha256('one')}"` }],
      IsTruncated: false,
    });
    const head = await upload(server.url, job.token, 'a.txt', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('upload-complete')]).toEqual([
      200,
      '3',
      '?1',
    ]);
    expect(await (await upload(server.url, job.token, 'a.txt', { method: 'GET' })).text()).toBe('one');
    const other = await openRig(server, 'rig-2');
    const otherJob = await startJob(server, other);
    const otherJobsDownload = await upload(server.url, otherJob.token, 'a.txt', { method: 'GET' });
    expect(await codeOf(otherJobsDownload)).toEqual([404, 'artifact_not_found']);
  });

  test('replaces a file with the same key, and removes the old bytes', async () => {
    for (const body of ['one', 'three'])
      expect((await upload(server.url, job.token, 'a.txt', { body })).status).toBe(200);
    expect(await (await download('a.txt')).text()).toBe('three');
    expect((await listArtifacts()).count).toBe(1);
    await expect.poll(storedSizes, { timeout: 10_000 }).toEqual([5]);
  });

  test('keeps exactly one of several files that are uploaded concurrently with the same key', async () => {
    const bodies = Array.from({ length: 6 }, (_, n) => String(n).repeat(900));
    const answers = await Promise.all(bodies.map(body => upload(server.url, job.token, 'a.txt', { body })));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    expect(bodies).toContain(await (await download('a.txt')).text());
    await expect.poll(storedSizes, { timeout: 10_000 }).toEqual([900]);
  });

  test('stores an uploaded file of 0 bytes', async () => {
    expect((await upload(server.url, job.token, 'empty', { body: '' })).status).toBe(200);
    expect((await download('empty')).headers.get('content-length')).toBe('0');
  });

  test('audits a deleted file, and deletes all files of a deleted job', async () => {
    for (const key of ['a/ä b.txt', 'b']) await upload(server.url, job.token, encodeURI(key), { body: 'x' });
    const params = { id: job.jobId, key: ['a', 'ä b.txt'] };
    expect(valueOf(await server.admin.call(artifactsApi.remove, { params }))).toMatchObject({
      key: 'a/ä b.txt',
    });
    expect((await download(encodeURI('a/ä b.txt'))).status).toBe(404);
    await rig.report(job, 'completed');
    await server.watch.jobEnd(job.jobId);
    valueOf(await server.admin.call(queueApi.remove, { params: { id: job.jobId } }));
    await expect.poll(storedSizes, { timeout: 10_000 }).toEqual([]);
    const query = { event_type: 'artifact.*', limit: 500 };
    const rows = valueOf(await server.admin.call(auditApi.list, { query })).entries;
    expect(rows.map(({ event_type: type, details }) => [type, details['key']])).toEqual([
      ['artifact.deleted', 'a/ä b.txt'],
      ['artifact.stored', 'b'],
      ['artifact.stored', 'a/ä b.txt'],
    ]);
  });
});

describe('the upload token', () => {
  const tryUpload = (token = job.token): Promise<Response> =>
    upload(server.url, token, 'a.txt', { body: 'late' });

  test.each(['failed', 'cancelled'])('refuses uploads once the attempt is %s', async status => {
    await rig.report(job, status);
    expect(await codeOf(await tryUpload())).toEqual([401, 'uploads_closed']);
    expect(await listArtifacts()).toMatchObject({ count: 0 });
  });

  test('accepts uploads after the job has completed, until the job is deleted', async () => {
    await rig.report(job, 'completed');
    expect((await tryUpload()).status).toBe(200);
    valueOf(await server.admin.call(queueApi.remove, { params: { id: job.jobId } }));
    expect(await codeOf(await tryUpload())).toEqual([401, 'uploads_closed']);
  });

  test('refuses the upload token of a replaced attempt, and accepts the token of the newer attempt', async () => {
    const first = await openRig(server, 'rig-2');
    const firstOffer = await startJob(server, first, { retry_on: ['trainer_exit'] });
    const second = await openRig(server, 'rig-3');
    expect((await tryUpload(firstOffer.token)).status).toBe(200);
    await first.report(firstOffer, 'failed', { exit_code: 1 });
    const secondOffer = await second.nextOffer();
    expect([secondOffer.jobId, secondOffer.token === firstOffer.token]).toEqual([firstOffer.jobId, false]);
    expect(await codeOf(await tryUpload(firstOffer.token))).toEqual([401, 'uploads_closed']);
    const secondUpload = await upload(server.url, secondOffer.token, 'b.txt', { body: 'by the second' });
    expect(await secondUpload.json()).toMatchObject({ artifact: { attempt: 2 } });
    // Files of the first attempt are available to the second attempt.
    const firstAttemptFile = await upload(server.url, secondOffer.token, 'a.txt', { method: 'GET' });
    expect(await firstAttemptFile.text()).toBe('late');
  });

  test('repeats an offer with the same upload token, and does not store the token', async () => {
    const idle = await openRig(server, 'rig-2');
    await server.submit({ config: {} });
    const offer = await idle.nextOffer();
    await idle.register();
    await idle.openStream();
    expect(await idle.nextOffer()).toEqual(offer);
    const { dataDir } = server;
    expect(readFileSync(join(dataDir, 'trainyard.db'), 'latin1')).not.toContain(offer.token);
    expect(readFileSync(join(dataDir, 'trainyard.db-wal'), 'latin1')).not.toContain(offer.token);
  });

  test("accepts only files of the token's own job", async () => {
    const other = await startJob(server, await openRig(server, 'rig-2'));
    for (const bucket of [other.jobId, 'datasets'])
      for (const method of ['PUT', 'GET']) {
        const answer = await upload(server.url, job.token, 'a', {
          bucket,
          method,
          ...(method === 'PUT' && { body: 'x' }),
        });
        expect(await codeOf(answer)).toEqual([403, 'not_your_job']);
      }
    const listing = await fetch(`${server.url}/api/cloud/storage/${other.jobId}`, {
      headers: { 'x-upload-token': job.token },
    });
    expect(listing.status).toBe(403);
    expect([await listArtifacts(), await listArtifacts(other.jobId)]).toMatchObject([
      { count: 0 },
      { count: 0 },
    ]);
    const rows = valueOf(
      await server.admin.call(auditApi.list, { query: { event_type: 'auth.refused', limit: 500 } }),
    ).entries;
    expect(rows[0]?.details).toEqual({ why: 'not_your_job', job_id: job.jobId });
  });

  test('refuses forged upload tokens, and refuses upload tokens in other calls', async () => {
    const [tokenHead, attempt, seal] = job.token.split('.');
    const other = await startJob(server, await openRig(server, 'rig-2'));
    const forged = [
      `tu_${other.jobId}.${other.attemptId}.${seal}`,
      `${tokenHead}.${attempt}.${'A'.repeat(43)}`,
      `${tokenHead}.${attempt}`,
      job.token.slice(0, -1),
      `${job.token}, ${job.token}`,
      rig.token,
      server.adminToken,
    ];
    for (const token of forged) expect(await codeOf(await tryUpload(token))).toEqual([401, 'token_invalid']);
    const bearerResponse = await fetch(`${server.url}/api/queue`, {
      headers: { authorization: `Bearer ${job.token}` },
    });
    expect(bearerResponse.status).toBe(401);
    const twoTokensResponse = await upload(server.url, job.token, 'a.txt', {
      body: 'x',
      headers: { 'x-simpletuner-secret': other.token },
    });
    expect(twoTokensResponse.status).toBe(401);
    const sameTokenResponse = await upload(server.url, job.token, 'a.txt', {
      body: 'x',
      headers: { 'x-simpletuner-secret': job.token },
    });
    expect(sameTokenResponse.status).toBe(200);
  });

  test('discards a file whose attempt ends during the upload', async () => {
    const attemptEnded = Promise.withResolvers<undefined>();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from('12345'));
        await attemptEnded.promise;
        controller.enqueue(Buffer.from('67890'));
        controller.close();
      },
    });
    const answer = uploadStream(body, 10);
    await expect.poll(storedSizes, { timeout: 10_000 }).toEqual([5]);
    await rig.report(job, 'failed');
    attemptEnded.resolve(undefined);
    expect(await answer).toEqual([401, 'uploads_closed']);
    expect(await listArtifacts()).toMatchObject({ count: 0 });
    await expect.poll(storedSizes, { timeout: 10_000 }).toEqual([]);
  });

  // Uploads a stream with a declared length, which `fetch` does not support.
  async function uploadStream(body: ReadableStream<Uint8Array>, length: number) {
    const { request } = await import('node:http');
    return new Promise<readonly [number, unknown]>((resolve, reject) => {
      const outgoing = request(`${server.url}/api/cloud/storage/outputs/slow`, {
        method: 'PUT',
        headers: { 'x-upload-token': job.token, 'content-length': length },
      });
      outgoing.once('error', reject);
      outgoing.once('response', response => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.once('end', () => {
          const { code } = JSON.parse(text) as { readonly code?: unknown };
          resolve([response.statusCode ?? 0, code]);
        });
      });
      const write = async (): Promise<void> => {
        for await (const part of body) outgoing.write(part);
        outgoing.end();
      };
      void write();
    });
  }
});

describe('refused uploads', () => {
  test.each([
    '..',
    '../x',
    'a/../x',
    'a/..',
    '.',
    'a/./b',
    'a//b',
    'a/',
    '%2e%2e',
    '%2e%2e/x',
    'a/%2e%2e%2fx',
    '%2e%2e%2f%2e%2e%2fadmin-token',
    '..%5c..%5cadmin-token',
    'a%5cb',
    '%252e%252e',
    '%2fetc%2fpasswd',
    'C%3a/x',
    'C:x',
    'a%00b',
    'a%0ab',
    'a%7fb',
    'a%e2%80%aeb',
    'con',
    'a/NUL.txt',
    'com1.safetensors',
    'a.',
    'a%20',
    '%20a',
    'a*b',
    'a%3fb',
    'a%7cb',
    '%ff',
    '%zz',
    'x'.repeat(201),
    '%c3%a4'.repeat(101),
    Array.from({ length: 17 }, () => 'a').join('/'),
    Array.from({ length: 8 }, () => 'x'.repeat(100)).join('/'),
  ])('refuses an upload with the key %s, and stores nothing', async key => {
    const answer = await sendRaw(server.url, {
      method: 'PUT',
      path: `/api/cloud/storage/outputs/${key}`,
      headers: [['x-upload-token', job.token]],
      body: 'x',
    });
    expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
    expect(await listArtifacts()).toMatchObject({ count: 0 });
    expect(storedSizes()).toEqual([]);
  });

  test.each(['..', '%2e%2e', '.', 'a%2fb', '%20'])('refuses an upload to the bucket %s', async bucket => {
    const answer = await sendRaw(server.url, {
      method: 'PUT',
      path: `/api/cloud/storage/${bucket}/x`,
      headers: [['x-upload-token', job.token]],
      body: 'x',
    });
    expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
  });

  const fileText = 'the bytes';
  const base64 = (algorithm: string, text: string): string =>
    createHash(algorithm).update(text).digest('base64');
  const crcOf = (text: string): string => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(crc32(text));
    return bytes.toString('base64');
  };
  const checksumHeaders: readonly (readonly [string, (text: string) => string])[] = [
    ['X-Checksum-Sha256', sha256],
    ['X-Checksum-Sha256', text => base64('sha256', text)],
    ['x-amz-checksum-sha256', text => base64('sha256', text)],
    ['x-amz-checksum-crc32', crcOf],
    ['x-amz-content-sha256', sha256],
    ['Content-MD5', text => base64('md5', text)],
    ['Content-Digest', text => `sha-256=:${base64('sha256', text)}:`],
    ['Repr-Digest', text => `sha-512=:AAAA:, sha-256=:${base64('sha256', text)}:`],
  ];
  test.each(checksumHeaders)(
    'refuses an upload that does not match its header %s',
    async (header, checksumOf) => {
      const tryUpload = (text: string): Promise<Response> =>
        upload(server.url, job.token, 'a', { body: fileText, headers: { [header]: checksumOf(text) } });
      expect(await codeOf(await tryUpload('others'))).toEqual([400, 'checksum_mismatch']);
      expect([await listArtifacts(), storedSizes()]).toMatchObject([{ count: 0 }, []]);
      expect((await tryUpload(fileText)).status).toBe(200);
    },
  );

  test.each([
    [{ 'x-checksum-sha256': 'abc' }, 400, 'invalid_request'],
    [{ 'content-md5': 'AAAA' }, 400, 'invalid_request'],
    [{ 'content-digest': 'md5=:AAAA:' }, 400, 'invalid_request'],
    [{ 'content-range': 'bytes 0-8/5' }, 400, 'invalid_request'],
    [{ 'content-range': 'bytes 0-3/9' }, 400, 'invalid_request'],
    [{ 'content-range': 'bytes */9' }, 400, 'invalid_request'],
    [{ 'content-range': 'chunks 0-8/9' }, 400, 'invalid_request'],
    [{ 'content-encoding': 'gzip' }, 415, 'media_type'],
    [{ 'content-encoding': 'aws-chunked' }, 415, 'media_type'],
  ] as const)('refuses an upload with %o', async (headers, status, code) => {
    const answer = await upload(server.url, job.token, 'a', { body: fileText, headers: { ...headers } });
    expect(await codeOf(answer)).toEqual([status, code]);
    expect(storedSizes()).toEqual([]);
  });

  test('refuses an upload without a length', async () => {
    const body = new Blob(['abc']).stream();
    const answer = await fetch(`${server.url}/api/cloud/storage/outputs/a`, {
      method: 'PUT',
      headers: { 'x-upload-token': job.token },
      body,
      duplex: 'half',
    });
    expect(await codeOf(answer)).toEqual([411, 'length_required']);
  });

  test('stores nothing of an upload that ends early', async () => {
    const { connect } = await import('node:net');
    const { hostname, port, host } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `PUT /api/cloud/storage/outputs/short HTTP/1.1\r\nHost: ${host}\r\nX-Upload-Token: ${job.token}\r\n` +
        'Content-Length: 100\r\n\r\n12345',
    );
    await expect.poll(storedSizes, { timeout: 10_000 }).toEqual([5]);
    socket.destroy();
    await expect.poll(storedSizes, { timeout: 10_000 }).toEqual([]);
    expect(await listArtifacts()).toMatchObject({ count: 0, total_bytes: 0 });
  });

  test('refuses an upload beyond the quota of the job or of all jobs', async () => {
    expect((await upload(server.url, job.token, 'a', { body: 'x'.repeat(9_000) })).status).toBe(200);
    const overJobQuota = await upload(server.url, job.token, 'b', { body: 'x'.repeat(1_001) });
    expect(await codeOf(overJobQuota)).toEqual([413, 'quota_exceeded']);
    const other = await startJob(server, await openRig(server, 'rig-2'));
    const uploadAsOther = (length: number): Promise<Response> =>
      upload(server.url, other.token, 'a', { body: 'x'.repeat(length) });
    expect(await codeOf(await uploadAsOther(6_001))).toEqual([413, 'quota_exceeded']);
    expect((await uploadAsOther(6_000)).status).toBe(200);
    expect(storedSizes()).toEqual([9_000]);
    // A deleted file no longer counts towards the quota.
    valueOf(await server.admin.call(artifactsApi.remove, { params: { id: job.jobId, key: ['a'] } }));
    expect((await upload(server.url, job.token, 'b', { body: 'x'.repeat(1_001) })).status).toBe(200);
  });

  test('accepts only one of two concurrent uploads that together exceed the quota', async () => {
    const answers = await Promise.all(
      ['a', 'b'].map(key => upload(server.url, job.token, key, { body: key.repeat(6_000) })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 413]);
    expect(storedSizes()).toEqual([6_000]);
  });
});
