import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, startJob, upload } from '../../support/upload-bench.ts';

const open = async () => {
  const server = await startTestServer({
    config: { storage: { perJob: 10_000, inAll: 12_000, keepCheckpoints: 0, reserve: 0 } },
  });
  onTestFinished(() => server.close());
  return { server, job: await startJob(server, await openRig(server)) };
};
const folderOf = (server: TestServer, { jobId }: JobOffer): string =>
  join(server.dataDir, 'artifacts', jobId);
const storedSizes = (server: TestServer, job: JobOffer): readonly number[] => {
  try {
    const folder = folderOf(server, job);
    return readdirSync(folder).map(name => statSync(join(folder, name)).size);
  } catch {
    return [];
  }
};
const uploadFile = async (
  server: TestServer,
  { token }: JobOffer,
  key: string,
  body: string,
): Promise<number> => (await upload(server.url, token, key, { body })).status;
const read = async (server: TestServer, { token }: JobOffer, key: string): Promise<string> =>
  (await upload(server.url, token, key, { method: 'GET' })).text();
const remove = async (server: TestServer, { jobId }: JobOffer, key: string): Promise<void> =>
  void valueOf(await server.admin.call(artifactsApi.remove, { params: { id: jobId, key: [key] } }));
const expectStoredSizes = (server: TestServer, job: JobOffer, sizes: readonly number[]): Promise<void> =>
  expect.poll(() => storedSizes(server, job), { timeout: 10_000 }).toEqual(sizes);

test('stores and counts equal files of a job once, until the last of these files is removed', async () => {
  const { server, job } = await open();
  const content = 'x'.repeat(4_000);
  for (const key of ['checkpoint-1.bin', 'final.bin', 'copy.bin'])
    expect(await uploadFile(server, job, key, content)).toBe(200);
  await expectStoredSizes(server, job, [4_000]);
  // 4,000 of the quota of 10,000 bytes are in use.
  expect(await uploadFile(server, job, 'other', 'y'.repeat(6_001))).toBe(413);
  expect(await uploadFile(server, job, 'other', 'y'.repeat(6_000))).toBe(200);
  await remove(server, job, 'checkpoint-1.bin');
  await remove(server, job, 'copy.bin');
  expect(await read(server, job, 'final.bin')).toBe(content);
  expect(await uploadFile(server, job, 'more', 'z')).toBe(413);
  await remove(server, job, 'final.bin');
  await expectStoredSizes(server, job, [6_000]);
  expect(await uploadFile(server, job, 'more', 'z'.repeat(4_000))).toBe(200);
});

test('stores and audits a file once when it is uploaded repeatedly', async () => {
  const { server, job } = await open();
  for (let n = 0; n < 3; n += 1) expect(await uploadFile(server, job, 'a', 'same')).toBe(200);
  await expectStoredSizes(server, job, [4]);
  expect(await read(server, job, 'a')).toBe('same');
  const query = { event_type: 'artifact.stored', limit: 500 };
  expect(valueOf(await server.admin.call(auditApi.list, { query })).entries).toHaveLength(1);
});

test('keeps other files with the same content when one of the files is replaced', async () => {
  const { server, job } = await open();
  await uploadFile(server, job, 'a', 'one');
  await uploadFile(server, job, 'b', 'one');
  await uploadFile(server, job, 'a', 'three');
  expect([await read(server, job, 'a'), await read(server, job, 'b')]).toEqual(['three', 'one']);
  await uploadFile(server, job, 'b', 'three');
  await expectStoredSizes(server, job, [5]);
  expect(await read(server, job, 'b')).toBe('three');
});

test('stores content again when its file is missing on the disk', async () => {
  const { server, job } = await open();
  await uploadFile(server, job, 'a', 'same');
  for (const name of readdirSync(folderOf(server, job))) rmSync(join(folderOf(server, job), name));
  expect(await uploadFile(server, job, 'b', 'same')).toBe(200);
  expect(await read(server, job, 'b')).toBe('same');
  expect(await uploadFile(server, job, 'a', 'same')).toBe(200);
  expect(await read(server, job, 'b')).toBe('same');
});

test('shares no files between jobs', async () => {
  const { server, job } = await open();
  const other = await startJob(server, await openRig(server, 'rig-2'));
  await uploadFile(server, job, 'a', 'same');
  await uploadFile(server, other, 'a', 'same');
  expect([storedSizes(server, job), storedSizes(server, other)]).toEqual([[4], [4]]);
  await remove(server, job, 'a');
  await expectStoredSizes(server, job, []);
  expect(await read(server, other, 'a')).toBe('same');
});
