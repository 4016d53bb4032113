import { request } from 'node:http';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer, type TestServerOptions, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, startJob, upload } from '../../support/upload-bench.ts';

const MiB = 1_048_576;
const GiB = 1_024 * MiB;

const open = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  return server;
};
const limits = (perJob: number, inAll: number): TestServerOptions => ({
  config: { storage: { perJob, inAll, keepCheckpoints: 0, reserve: 0 } },
});
const runJob = async ({ server, name }: { readonly server: TestServer; readonly name: string }) => {
  const rig = await openRig(server, name);
  return { rig, job: await startJob(server, rig) };
};
// Uploads the first byte of a file of this size.
const announceFile = (
  server: TestServer,
  { token }: JobOffer,
  key: string,
  total: number,
): Promise<Response> =>
  upload(server.url, token, key, { body: 'x', headers: { 'content-range': `bytes 0-0/${total}` } });
const codeOf = async (answer: Response): Promise<unknown> => [
  answer.status,
  ((await answer.json()) as { readonly code?: unknown }).code,
];
const storedSizes = ({ dataDir }: TestServer, { jobId }: JobOffer): readonly number[] => {
  try {
    const folder = join(dataDir, 'artifacts', jobId);
    return readdirSync(folder).map(name => statSync(join(folder, name)).size);
  } catch {
    return [];
  }
};
const bytesOfMiB = (count: number): Uint8Array<ArrayBuffer> => new Uint8Array(count * MiB);

// Uploads `before` of `total` MiB, and the rest when the test calls `finish`. `status` resolves with the status of the
// response, or with null when the connection breaks.
function sendSlowly(server: TestServer, { token }: JobOffer, key: string, total: number, before: number) {
  const statusReceived = Promise.withResolvers<number | null>();
  const outgoing = request(`${server.url}/api/cloud/storage/outputs/${key}`, {
    method: 'PUT',
    headers: { 'x-upload-token': token, 'content-length': total * MiB },
  });
  outgoing.once('response', response => statusReceived.resolve(response.resume().statusCode ?? 0));
  outgoing.on('error', () => statusReceived.resolve(null));
  outgoing.write(bytesOfMiB(before));
  return { status: statusReceived.promise, finish: () => void outgoing.end(bytesOfMiB(total - before)) };
}

test('leaves storage for other jobs when ten jobs announce large files', async () => {
  const server = await open(limits(50 * GiB, 500 * GiB));
  const attackers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => runJob({ server, name: `rig-${n}` })),
  );
  // Each of the ten jobs announces 50 GiB in 31 files, and all together announce the whole storage.
  for (let n = 0; n < 31; n += 1) {
    const answers = await Promise.all(
      attackers.map(({ job }) => announceFile(server, job, `part-${n}`, Math.floor((50 * GiB) / 31))),
    );
    expect(answers.map(({ status }) => status)).toEqual(attackers.map(() => 308));
  }
  const { job } = await runJob({ server, name: 'honest' });
  expect((await upload(server.url, job.token, 'a', { body: bytesOfMiB(1) })).status).toBe(200);
});

test('refuses more files of a job that has announced its whole limit, until its attempt ends', async () => {
  const server = await open(limits(100, 1_000));
  const { rig, job } = await runJob({ server, name: 'rig-1' });
  expect((await announceFile(server, job, 'a', 100)).status).toBe(308);
  expect(await codeOf(await announceFile(server, job, 'b', 1))).toEqual([413, 'quota_exceeded']);
  await rig.report(job, 'failed', { exit_code: 1 });
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([]);
});

test('frees the announced storage of the previous attempt for the next attempt', async () => {
  const server = await open(limits(100, 1_000));
  const rig = await openRig(server);
  const first = await startJob(server, rig, { retry_on: ['trainer_exit'], max_retries: 1 });
  expect((await announceFile(server, first, 'a', 100)).status).toBe(308);
  const second = await openRig(server, 'rig-2');
  await rig.report(first, 'failed', { exit_code: 1 });
  const next = await second.nextOffer();
  await second.report(next, 'starting');
  expect((await announceFile(server, next, 'b', 100)).status).toBe(308);
});

test('keeps unfinished uploads of a completed job until its worker reports that none are left', async () => {
  const server = await open(limits(1_000, 10_000));
  const { rig, job } = await runJob({ server, name: 'rig-1' });
  await announceFile(server, job, 'a', 100);
  await rig.report(job, 'completed', { uploads_pending: true });
  await server.watch.jobEnd(job.jobId);
  const rest = { body: 'x'.repeat(9), headers: { 'content-range': 'bytes 1-9/100' } };
  expect((await upload(server.url, job.token, 'a', rest)).status).toBe(308);
  const outstandingReport = await fetch(`${server.url}/api/cloud/outstanding`, {
    method: 'PUT',
    headers: { 'x-upload-token': job.token, 'content-type': 'application/json' },
    body: JSON.stringify({ files: 0, bytes: 0 }),
  });
  expect(outstandingReport.status).toBe(200);
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([]);
});

test('drops unfinished uploads of a completed job when its outstanding files are given up', async () => {
  const server = await open(limits(1_000, 10_000));
  const { rig, job } = await runJob({ server, name: 'rig-1' });
  await announceFile(server, job, 'a', 100);
  await rig.report(job, 'completed', { uploads_pending: true });
  await server.watch.jobEnd(job.jobId);
  expect(storedSizes(server, job)).toEqual([1]);
  valueOf(await server.admin.call(artifactsApi.giveUp, { params: { id: job.jobId }, body: {} }));
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([]);
});

test('stops an upload beyond its reservation when other jobs have filled the storage', async () => {
  const server = await open(limits(GiB, 100 * MiB));
  const { job } = await runJob({ server, name: 'slow' });
  const { job: otherJob } = await runJob({ server, name: 'quick' });
  const slow = sendSlowly(server, job, 'a', 90, 1);
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([MiB]);
  // The slow upload has reserved 64 MiB and not the 90 MiB of the whole file. So 36 MiB of the 100 MiB are left for others.
  expect(await codeOf(await upload(server.url, otherJob.token, 'b', { body: bytesOfMiB(37) }))).toEqual([
    413,
    'quota_exceeded',
  ]);
  expect((await upload(server.url, otherJob.token, 'b', { body: bytesOfMiB(36) })).status).toBe(200);
  slow.finish();
  expect(await slow.status).toBe(507);
  await expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual([]);
  // The stopped upload has released its reservation.
  expect((await upload(server.url, job.token, 'c', { body: bytesOfMiB(64) })).status).toBe(200);
});

test('keeps the received bytes of a part that is stopped for lack of storage', async () => {
  const server = await open(limits(GiB, 100 * MiB));
  const { job } = await runJob({ server, name: 'slow' });
  const { job: otherJob } = await runJob({ server, name: 'quick' });
  const uploadPart = (first: number, count: number): Promise<Response> =>
    upload(server.url, job.token, 'a', {
      body: bytesOfMiB(count),
      headers: { 'content-range': `bytes ${first * MiB}-${(first + count) * MiB - 1}/${90 * MiB}` },
    });
  expect((await uploadPart(0, 10)).status).toBe(308);
  expect((await upload(server.url, otherJob.token, 'b', { body: bytesOfMiB(20) })).status).toBe(200);
  expect(await codeOf(await uploadPart(10, 80))).toEqual([507, 'storage']);
  // The stopped part had reserved 64 MiB after the stored 10 MiB.
  const head = await upload(server.url, job.token, 'a', { method: 'HEAD' });
  const offset = Number(head.headers.get('upload-offset'));
  expect([offset > 73 * MiB, offset <= 74 * MiB]).toEqual([true, true]);
  valueOf(await server.admin.call(artifactsApi.remove, { params: { id: otherJob.jobId, key: ['b'] } }));
  const rest = await upload(server.url, job.token, 'a', {
    body: new Uint8Array(90 * MiB - offset),
    headers: { 'content-range': `bytes ${offset}-${90 * MiB - 1}/${90 * MiB}` },
  });
  expect(rest.status).toBe(200);
});

test('refuses a file that is larger than the limit of all jobs', async () => {
  const server = await open(limits(GiB, 10 * MiB));
  const { job } = await runJob({ server, name: 'rig-1' });
  expect(await codeOf(await announceFile(server, job, 'a', 11 * MiB))).toEqual([413, 'quota_exceeded']);
  expect(storedSizes(server, job)).toEqual([]);
});

test('reserves only the bytes on the disk for unfinished uploads after a restart', async () => {
  const dataDir = temporaryFolder();
  const options = { dataDir, ...limits(1_000, 1_000) };
  const first = await startTestServer(options);
  const { job } = await runJob({ server: first, name: 'rig-1' });
  const { job: otherJob } = await runJob({ server: first, name: 'rig-2' });
  const body = { body: 'x'.repeat(100), headers: { 'content-range': 'bytes 0-99/900' } };
  expect((await upload(first.url, job.token, 'a', body)).status).toBe(308);
  await first.close();
  const second = await startTestServer(options);
  onTestFinished(() => second.close());
  const uploadText = (key: string, length: number): Promise<Response> =>
    upload(second.url, otherJob.token, key, { body: 'x'.repeat(length) });
  expect(await codeOf(await uploadText('b', 901))).toEqual([413, 'quota_exceeded']);
  expect((await uploadText('b', 900)).status).toBe(200);
  valueOf(await second.admin.call(artifactsApi.remove, { params: { id: otherJob.jobId, key: ['b'] } }));
  const rest = { body: 'x'.repeat(800), headers: { 'content-range': 'bytes 100-899/900' } };
  expect((await upload(second.url, job.token, 'a', rest)).status).toBe(200);
});
