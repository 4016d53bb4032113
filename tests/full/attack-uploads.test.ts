/** Unauthorized and large uploads to a server in a separate process (docs/internals/faults.md, S17). */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { memoryOf } from '../support/own-processes.ts';
import { digitsTrainer, root, type ServerProgram, startServer, startWorker } from '../support/processes.ts';
import { sendRaw } from '../support/raw-request.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { openRig, type UploadRequest, sha256, startJob, upload } from '../support/upload-bench.ts';
import { watchEvents } from '../support/watch.ts';

const MiB = 1_048_576;

async function startFixture(...args: readonly string[]) {
  const server = await startServer(args);
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await server.exited;
  });
  const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim();
  const admin = adminClient(server.url, token);
  const watch = await watchEvents(server.url, token);
  onTestFinished(() => watch.close());
  const fixture = { ...server, ...createShortcuts(admin) };
  const keys = async (id: JobId): Promise<readonly string[]> =>
    valueOf(await admin.call(artifactsApi.list, { params: { id }, query: {} })).artifacts.map(
      ({ key }) => key,
    );
  return { server, fixture, token, admin, watch, keys };
}

/** Returns the paths of all stored artifact files. */
const artifactFiles = ({ dataDir }: ServerProgram): readonly string[] =>
  existsSync(join(dataDir, 'artifacts'))
    ? readdirSync(join(dataDir, 'artifacts'), { recursive: true, encoding: 'utf8' }).filter(name =>
        statSync(join(dataDir, 'artifacts', name)).isFile(),
      )
    : [];

test('refuses uploads with a revoked token, to another job, outside the folder or over quota, and stores no file', async () => {
  const { server, fixture, keys } = await startFixture('--artifacts-per-job', '0.001', '--disk-reserve', '0');
  const rigs = [await openRig(fixture, 'rig-1'), await openRig(fixture, 'rig-2')] as const;
  const revoked = await startJob(fixture, rigs[0]);
  await rigs[0].report(revoked, 'failed', { exit_code: 1 });
  const ownJob = await startJob(fixture, rigs[0]);
  const otherJob = await startJob(fixture, rigs[1]);
  const before = readdirSync(server.dataDir).toSorted();
  const uploadFile = async (
    token: string,
    key: string,
    outgoing: UploadRequest,
  ): Promise<readonly [number, unknown]> => {
    const answer = await upload(server.url, token, key, outgoing);
    return [answer.status, ((await answer.json()) as { readonly code: unknown }).code];
  };
  expect(await uploadFile(revoked.token, 'a', { body: 'x' })).toEqual([401, 'uploads_closed']);
  expect(await uploadFile(ownJob.token, 'a', { body: 'x', bucket: otherJob.jobId })).toEqual([
    403,
    'not_your_job',
  ]);
  expect(await uploadFile(ownJob.token, 'a', { body: 'x'.repeat(2_000_000) })).toEqual([
    413,
    'quota_exceeded',
  ]);
  for (const key of [
    '../../admin-token',
    '..%2f..%2fadmin-token',
    'a/%2e%2e/%2e%2e/%2e%2e/x',
    'a%00b',
    '/etc/x',
  ]) {
    const { status, code } = await sendRaw(server.url, {
      method: 'PUT',
      path: `/api/cloud/storage/outputs/${key}`,
      headers: [['x-upload-token', ownJob.token]],
      body: 'x',
    });
    expect([key, status, code]).toEqual([key, 400, 'invalid_request']);
  }
  expect(await Promise.all([revoked, ownJob, otherJob].map(({ jobId }) => keys(jobId)))).toEqual([
    [],
    [],
    [],
  ]);
  expect(artifactFiles(server)).toEqual([]);
  expect(
    readdirSync(server.dataDir)
      .filter(name => name !== 'artifacts')
      .toSorted(),
  ).toEqual(before);
}, 60_000);

test('streams uploads of hundreds of megabytes without growing memory or blocking other clients', async () => {
  const { server, fixture, admin } = await startFixture('--disk-reserve', '0');
  const job = await startJob(fixture, await openRig(fixture));
  const piece = Buffer.alloc(MiB, 'x');
  const pipeBody = (key: string, mebibytes: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${server.url}/api/cloud/storage/outputs/${key}`, {
        method: 'PUT',
        headers: { 'x-upload-token': job.token, 'content-length': mebibytes * MiB },
      });
      let left = mebibytes;
      const next = (): void => {
        for (; left > 0; left -= 1)
          if (!outgoing.write(piece)) {
            left -= 1;
            outgoing.once('drain', next);
            return;
          }
        outgoing.end();
      };
      outgoing.once('error', reject);
      outgoing.once('response', response => {
        resolve(response.resume().statusCode ?? 0);
      });
      next();
    });
  await pipeBody('warm', 8);
  const before = memoryOf(server.pid);
  let maxMemory = before;
  let isOver = false;
  const uploads = Promise.all(['a', 'b', 'c'].map(key => pipeBody(key, 100))).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    valueOf(await admin.call(artifactsApi.list, { params: { id: job.jobId }, query: {} }));
    maxMemory = Math.max(maxMemory, memoryOf(server.pid));
  }
  expect(await uploads).toEqual([200, 200, 200]);
  expect(maxMemory - before).toBeLessThan(150 * MiB);
}, 120_000);

test('accepts uploads of a real trainer that uses the token from its environment', async () => {
  const { server, fixture, watch, keys, admin, token: adminToken } = await startFixture();
  const { id, token } = await fixture.createWorker({ name: 'rig-1' });
  const args = ['--name', 'rig-1', '--persistent', '--bring', 'none', '--trainer', digitsTrainer];
  startWorker({ url: server.url, token, args });
  await watch.worker(id, 'idle');
  const config = JSON.parse(
    readFileSync(join(root, 'examples/digits/configs/digits-quick.json'), 'utf8'),
  ) as Record<string, unknown>;
  const job = await fixture.submit({ config });
  expect(await watch.jobEnd(job)).toMatchObject({ status: 'completed' });
  expect(await keys(job)).toEqual(['result.json', 'checkpoint-002814.bin']);
  const [, artifact] = valueOf(
    await admin.call(artifactsApi.list, { params: { id: job }, query: {} }),
  ).artifacts;
  expect(artifact).toMatchObject({ kind: 'checkpoint', attempt: 1 });
  const downloaded = await fetch(`${server.url}/api/queue/${job}/artifacts/checkpoint-002814.bin`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  expect(sha256(new Uint8Array(await downloaded.arrayBuffer()))).toBe(artifact?.sha256);
}, 90_000);
