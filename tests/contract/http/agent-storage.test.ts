// The agent uploads and downloads files through a proxy that breaks connections.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../agent/clock.ts';
import { fetchCheckpoint } from '../../../agent/artifacts/checkpoint-fetch.ts';
import { downloadFile } from '../../../agent/artifacts/download.ts';
import { openNetwork, usualTrust } from '../../../agent/connection/network.ts';
import { openStorage } from '../../../agent/artifacts/storage.ts';
import { uploadFile } from '../../../agent/artifacts/upload.ts';
import { manifestName } from '../../../protocol/artifact.ts';
import { temporaryFolder } from '../../support/processes.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { openRig, type JobOffer, sha256, startJob, upload } from '../../support/upload-bench.ts';

const MiB = 1_048_576;
const sizes = { wholeUpTo: MiB, part: MiB };

let server: TestServer;
let job: JobOffer;
beforeEach(async () => {
  server = await startTestServer({
    config: { storage: { perJob: 8 * MiB, inAll: 16 * MiB, keepCheckpoints: 0, reserve: 0 } },
  });
  job = await startJob(server, await openRig(server));
});
afterEach(() => server.close());

// The agent sends a file up to 1 MiB in one request, and larger files in parts of 1 MiB. The cut is within a part.
const bytesBeforeCut = 700_000;

// Opens a proxy that cuts each of the first `times` connections after `bytes` bytes in one direction.
async function openBreakingProxy(direction: 'up' | 'down', bytes: number, times: number) {
  const forwarded = { up: 0, down: 0, cuts: 0 };
  const listener = net.createServer(client => {
    const upstream = net.connect(Number(new URL(server.url).port), '127.0.0.1');
    let left = forwarded.cuts < times ? bytes : Number.POSITIVE_INFINITY;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    const pass = (from: net.Socket, to: net.Socket, side: 'up' | 'down'): void => {
      from.on('data', chunk => {
        forwarded[side] += chunk.length;
        to.write(chunk);
        if (side !== direction) return;
        left -= chunk.length;
        if (left > 0 || forwarded.cuts >= times) return;
        forwarded.cuts += 1;
        // Forward the data that was received before the cut.
        to.end(cut);
      });
      from.on('error', cut).on('close', cut);
    };
    pass(client, upstream, 'up');
    pass(upstream, client, 'down');
  });
  await new Promise<void>(resolve => void listener.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void listener.close());
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, passed: forwarded };
}

const storageDeps = (url: string, token = job.token) => ({
  storage: openStorage(
    { endpoint: '/api/cloud/storage', token },
    { url, send: openNetwork(usualTrust), clock: systemClock, renew: () => Promise.resolve(null) },
  ),
  clock: systemClock,
  random: () => 0,
  signal: new AbortController().signal,
  sizes,
});

function localFile(bytes: Uint8Array, key: string) {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, bytes);
  return { key, path, bytes: bytes.length, changedAt: statSync(path).mtimeMs, sha256: sha256(bytes) };
}
const storedFile = async (key: string): Promise<Buffer> =>
  Buffer.from(await (await upload(server.url, job.token, key, { method: 'GET' })).arrayBuffer());

test('resumes the upload of a large file when its connection breaks, and repeats less than 1 MiB', async () => {
  const proxy = await openBreakingProxy('up', bytesBeforeCut, 3);
  const bytes = randomBytes(4 * MiB + 5);
  expect(await uploadFile(localFile(bytes, 'deep/large.bin'), storageDeps(proxy.url))).toEqual({
    kind: 'uploaded',
  });
  expect(proxy.passed.cuts).toBe(3);
  expect((await storedFile('deep/large.bin')).equals(bytes)).toBe(true);
  expect(proxy.passed.up).toBeLessThan(5 * MiB);
});

test('resumes the download of a large file when its connection breaks, and repeats less than 1 MiB', async () => {
  const bytes = randomBytes(4 * MiB);
  await upload(server.url, job.token, 'checkpoint-5.bin', { body: bytes });
  const proxy = await openBreakingProxy('down', bytesBeforeCut, 3);
  const file = join(temporaryFolder(), 'file');
  const result = await downloadFile(
    'checkpoint-5.bin',
    file,
    { bytes: bytes.length, sha256: sha256(bytes) },
    storageDeps(proxy.url),
  );
  expect(result).toEqual({ kind: 'done', bytes: bytes.length });
  expect(proxy.passed.cuts).toBe(3);
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(proxy.passed.down).toBeLessThan(5 * MiB);
});

test.each([1000, MiB + 1])(
  'refuses an upload of %d bytes above the storage limit before the agent sends the bytes',
  async extraBytes => {
    await upload(server.url, job.token, 'most', { body: new Uint8Array(8 * MiB - 500) });
    const proxy = await openBreakingProxy('up', MiB, 0);
    expect(await uploadFile(localFile(randomBytes(extraBytes), 'more'), storageDeps(proxy.url))).toEqual({
      kind: 'no_room',
      why: expect.stringContaining('delete some, or raise the limit') as string,
    });
    expect(proxy.passed.up).toBeLessThan(3_000);
    expect(await uploadFile(localFile(randomBytes(100), 'less'), storageDeps(server.url))).toEqual({
      kind: 'uploaded',
    });
  },
);

test('gives up an upload when the upload token is invalid', async () => {
  const deps = storageDeps(server.url, 'ut_none');
  expect(await uploadFile(localFile(randomBytes(10), 'a'), deps)).toEqual({ kind: 'over' });
  expect(await uploadFile(localFile(randomBytes(2 * MiB), 'a'), deps)).toEqual({ kind: 'over' });
  expect(await deps.storage.list(deps.signal)).toMatchObject({ ok: false, failure: { status: 401 } });
});

test('lists all stored files with their hashes', async () => {
  for (const key of ['a', 'deep/ü 1.bin'])
    await upload(server.url, job.token, key.split('/').map(encodeURIComponent).join('/'), { body: key });
  const { storage, signal } = storageDeps(server.url);
  expect(await storage.list(signal)).toEqual({
    ok: true,
    value: new Map(['deep/ü 1.bin', 'a'].map(key => [key, sha256(key)])),
  });
});

test('writes no file of a checkpoint whose manifest has a bad path or hash', async () => {
  const outputDir = join(temporaryFolder(), 'output');
  mkdirSync(outputDir);
  const store = (key: string, body: string) => upload(server.url, job.token, key, { body });
  const manifest = (path: string): string =>
    JSON.stringify({ files: [{ path, bytes: 4, sha256: sha256('true') }] });
  const runFetch = () =>
    fetchCheckpoint({ checkpoint: 'checkpoint-7', step: 7 }, outputDir, storageDeps(server.url));
  await store('checkpoint-7/model.bin', 'lies');
  await store(`checkpoint-7/${manifestName}`, manifest('../../../model.bin'));
  expect(await runFetch()).toMatchObject({
    kind: 'failed',
    message: expect.stringMatching(/an invalid path/) as string,
  });
  await store(`checkpoint-7/${manifestName}`, manifest('model.bin'));
  expect(await runFetch()).toMatchObject({
    kind: 'failed',
    message: expect.stringMatching(/2 times.*Delete that checkpoint/) as string,
  });
  expect([readdirSync(outputDir), existsSync(join(outputDir, '../model.bin'))]).toEqual([[], false]);
  await store('checkpoint-7/model.bin', 'true');
  expect(await runFetch()).toEqual({
    kind: 'ready',
    message: 'Resuming from checkpoint-7 (step 7), 4 bytes fetched',
  });
  expect(readFileSync(join(outputDir, 'checkpoint-7/model.bin'), 'utf8')).toBe('true');
});
