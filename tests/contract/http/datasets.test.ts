import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { Permission } from '../../../protocol/call.ts';
import type { Client } from '../../../protocol/client.ts';
import { type DatasetFile, manifestText } from '../../../protocol/dataset.ts';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { JobId } from '../../../protocol/ids.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, startJob } from '../../support/upload-bench.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer({ config: { datasetsInAll: 100_000 } });
});
afterEach(() => server.close());

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

interface ApiUser {
  readonly client: Client;
  readonly token: string;
}

const admin = (): ApiUser => ({ client: server.admin, token: server.adminToken });

async function createUser(name: string, permissions: Permission[]): Promise<ApiUser> {
  const { token } = valueOf(await server.admin.call(tokensApi.create, { body: { name, permissions } }));
  return { client: adminClient(server.url, token), token };
}

const put = (
  text: string | Uint8Array<ArrayBuffer>,
  { token }: ApiUser = admin(),
  options: { readonly name?: string; readonly range?: string } = {},
): Promise<Response> =>
  fetch(`${server.url}/api/datasets/contents/${options.name ?? sha256(text)}`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${token}`,
      ...(options.range !== undefined && { 'content-range': options.range }),
    },
    body: text,
  });

const codeOf = async (response: Response): Promise<readonly [number, unknown]> => [
  response.status,
  ((await response.json()) as { readonly code?: unknown }).code,
];

// Files for a manifest, sorted by path.
const filesOf = (texts: Readonly<Record<string, string>>): readonly DatasetFile[] =>
  Object.entries(texts)
    .map(([path, text]) => ({ path, bytes: Buffer.byteLength(text), sha256: sha256(text) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));

async function push(name: string, texts: Readonly<Record<string, string>>, user: ApiUser = admin()) {
  const manifest = manifestText(filesOf(texts));
  for (const text of [...Object.values(texts), manifest]) await put(text, user);
  return user.client.call(datasetsApi.publish, { body: { name, version: sha256(manifest), pinned: false } });
}

const list = async (all = false, { client }: ApiUser = admin()) =>
  valueOf(await client.call(datasetsApi.list, { query: { all: String(all) } }));
const missing = async (...contents: string[]): Promise<readonly string[]> =>
  valueOf(await server.admin.call(datasetsApi.missing, { body: { contents } })).missing;
const prune = async (names?: string[], { client }: ApiUser = admin()) =>
  valueOf(await client.call(datasetsApi.prune, { body: { ...(names && { names }), dry_run: false } }));

const pruneVersions = async (
  versions: number[],
  { by: user = admin(), isDryRun = false }: { readonly by?: ApiUser; readonly isDryRun?: boolean } = {},
) => valueOf(await user.client.call(datasetsApi.prune, { body: { versions, dry_run: isDryRun } }));

// Returns the hashes of all stored contents. The folder name is the start of a hash, and the file name is its rest.
const storedHashes = (): readonly string[] => {
  const folder = join(server.dataDir, 'contents');
  return readdirSync(folder).flatMap(head => readdirSync(join(folder, head)).map(rest => head + rest));
};

const photos = { 'a.jpg': 'one', 'a.txt': 'a caption', 'more/b.jpg': 'two' };

describe('pushing a dataset', () => {
  test('lists a pushed dataset with its files, size and owner', async () => {
    const createdVersion = valueOf(await push('photos', photos));
    const manifest = manifestText(filesOf(photos));
    const bytes = 'onea captiontwo'.length;
    expect(createdVersion).toMatchObject({
      name: 'photos',
      owner: 'admin',
      version: sha256(manifest),
      files: 3,
      bytes,
    });
    expect(await list()).toMatchObject({
      datasets: [{ id: createdVersion.id, jobs: 0, pinned: false, newest: true }],
      stored_bytes: bytes + manifest.length,
      limit_bytes: 100_000,
    });
  });

  test('creates no new dataset version when the same files are pushed again', async () => {
    const first = valueOf(await push('photos', photos));
    expect(valueOf(await push('photos', photos)).id).toBe(first.id);
    expect((await list(true)).datasets).toHaveLength(1);
  });

  test('creates a dataset version when a caption changes, and another when the caption changes back', async () => {
    const first = valueOf(await push('photos', photos));
    const second = valueOf(await push('photos', { ...photos, 'a.txt': 'a better caption' }));
    const third = valueOf(await push('photos', photos));
    expect((await list()).datasets.map(({ id }) => id)).toEqual([third.id]);
    expect((await list(true)).datasets.map(({ id, newest }) => [id, newest])).toEqual([
      [third.id, true],
      [second.id, false],
      [first.id, false],
    ]);
  });

  test('shares the content of files with other datasets', async () => {
    await push('photos', photos);
    const { stored_bytes: before } = await list();
    await push('others', { 'renamed.jpg': 'one' });
    const manifest = manifestText(filesOf({ 'renamed.jpg': 'one' }));
    expect((await list()).stored_bytes).toBe(before + manifest.length);
  });

  test('audits the push and the pin of a dataset', async () => {
    const createdVersion = valueOf(await push('photos', photos));
    await server.admin.call(datasetsApi.pin, { params: { id: createdVersion.id }, body: { pinned: true } });
    const { entries } = valueOf(await server.admin.call(auditApi.list, { query: { limit: 2 } }));
    expect(
      entries.map(({ event_type, target_type, target_id }) => [event_type, target_type, target_id]),
    ).toEqual([
      ['dataset.pinned', 'dataset', 'photos'],
      ['dataset.pushed', 'dataset', 'photos'],
    ]);
  });

  test('refuses to publish a dataset while one of its files is missing', async () => {
    const manifest = manifestText(filesOf(photos));
    await put('one');
    await put(manifest);
    const outcome = await server.admin.call(datasetsApi.publish, {
      body: { name: 'photos', version: sha256(manifest) },
    });
    expect(outcome).toMatchObject({ ok: false, failure: { problem: { code: 'content_not_found' } } });
    expect((await list(true)).datasets).toEqual([]);
    // Files that were stored before the refusal are kept for the next try.
    expect(await missing(sha256('one'), sha256('two'))).toEqual([sha256('two')]);
  });

  test.each([
    ['a path outside the folder', [{ path: '../a', bytes: 1, sha256: sha256('a') }], 'contains the name ..'],
    ['no files', [], 'has no files'],
    [
      'two names of one file on systems that ignore case',
      [
        { path: 'A.jpg', bytes: 1, sha256: sha256('a') },
        { path: 'a.jpg', bytes: 1, sha256: sha256('a') },
      ],
      'ignore case',
    ],
  ])('refuses to publish a dataset with %s', async (_what, files, message) => {
    const manifest = manifestText(files);
    await put('a');
    await put(manifest);
    const body = { name: 'photos', version: sha256(manifest) };
    expect(await server.admin.call(datasetsApi.publish, { body })).toMatchObject({
      ok: false,
      failure: { problem: { code: 'invalid_request', detail: expect.stringContaining(message) as unknown } },
    });
  });

  test('refuses to publish a dataset whose manifest is invalid', async () => {
    await put('not a manifest');
    const body = { name: 'photos', version: sha256('not a manifest') };
    expect(await server.admin.call(datasetsApi.publish, { body })).toMatchObject({
      ok: false,
      failure: { problem: { code: 'invalid_request' } },
    });
  });
});

describe('uploading a file of a dataset', () => {
  test('stores a file with the announced content', async () => {
    expect(await missing(sha256('one'))).toEqual([sha256('one')]);
    expect((await put('one')).status).toBe(200);
    expect(await missing(sha256('one'))).toEqual([]);
    expect(storedHashes()).toEqual([sha256('one')]);
  });

  test('refuses a file that does not match its hash, and keeps none of its bytes', async () => {
    expect(await codeOf(await put('one', admin(), { name: sha256('two') }))).toEqual([
      400,
      'checksum_mismatch',
    ]);
    expect(storedHashes()).toEqual([]);
  });

  test('continues an interrupted upload of a file', async () => {
    const name = sha256('0123456789');
    expect((await put('01234', admin(), { name, range: 'bytes 0-4/10' })).status).toBe(200);
    const params = { digest: name };
    expect(valueOf(await server.admin.call(datasetsApi.progress, { params }))).toEqual({
      bytes: 5,
      complete: false,
    });
    expect(await codeOf(await put('789', admin(), { name, range: 'bytes 7-9/10' }))).toEqual([
      409,
      'upload_offset',
    ]);
    expect((await put('56789', admin(), { name, range: 'bytes 5-9/10' })).status).toBe(200);
    expect(valueOf(await server.admin.call(datasetsApi.progress, { params }))).toEqual({
      bytes: 10,
      complete: true,
    });
  });

  test('stores a dataset file of 0 bytes', async () => {
    expect((await put('')).status).toBe(200);
    expect(await missing(sha256(''))).toEqual([]);
  });

  test('refuses a file beyond the storage limit of datasets', async () => {
    const large = 'x'.repeat(100_001);
    expect(await codeOf(await put(large))).toEqual([413, 'quota_exceeded']);
    expect(storedHashes()).toEqual([]);
  });

  test('counts incomplete uploads towards the storage limit of datasets', async () => {
    const part = (text: string) =>
      put('x'.repeat(40_000), admin(), { name: sha256(text), range: 'bytes 0-39999/50000' });
    expect([(await part('one')).status, (await part('two')).status]).toEqual([200, 200]);
    expect(await codeOf(await part('three'))).toEqual([413, 'quota_exceeded']);
    // The part that completes an upload does not count twice.
    const rest = { name: sha256('two'), range: 'bytes 40000-40009/50000' };
    expect((await put('y'.repeat(10), admin(), rest)).status).toBe(200);
  });

  test('refuses a file from a token without permission to submit jobs', async () => {
    const viewer = await createUser('viewer', ['queue.view']);
    expect(await codeOf(await put('one', viewer))).toEqual([403, 'permission_missing']);
  });
});

describe('a job with data', () => {
  const submit = async (version: string, user: ApiUser = admin()) =>
    user.client.call(queueApi.submit, {
      body: {
        config: { instance_data_dir: '/home/me/photos' },
        data: [{ path: '/home/me/photos', version }],
      },
    });

  test("allows the worker of a job to read only the job's files and manifest", async () => {
    const rig = await openRig(server, 'rig-1', { datasets: [] });
    const createdVersion = valueOf(await push('photos', photos));
    await push('secrets', { 'key.txt': 'a secret' });
    const offer = await startJob(server, rig, { data: [{ path: 'x', version: createdVersion.version }] });
    const get = (name: string): Promise<Response> =>
      fetch(`${server.url}/api/cloud/storage/data/${name}`, { headers: { 'x-upload-token': offer.token } });
    expect(offer.data).toEqual([
      { path: 'x', version: createdVersion.version, files: 3, bytes: createdVersion.bytes, is_file: false },
    ]);
    const manifest = await get(createdVersion.version);
    expect([manifest.status, await manifest.text()]).toEqual([200, manifestText(filesOf(photos))]);
    const photo = await get(sha256('two'));
    expect([photo.headers.get('etag'), await photo.text()]).toEqual([`"${sha256('two')}"`, 'two']);
    expect(await codeOf(await get(sha256('a secret')))).toEqual([404, 'content_not_found']);
    expect(await codeOf(await get('../../trainyard.db'))).toEqual([404, 'route_not_found']);
  });

  test('keeps a job with data pending while no worker can fetch data, and explains why', async () => {
    await openRig(server, 'rig-old');
    const createdVersion = valueOf(await push('photos', photos));
    const job = valueOf(await submit(createdVersion.version));
    expect(job).toMatchObject({ status: 'queued' });
    expect('reason' in job && job.reason).toContain('cannot fetch data');
  });

  test('prefers a worker that already has the data of the job', async () => {
    const createdVersion = valueOf(await push('photos', photos));
    const [first, second] = [
      await openRig(server, 'rig-1', { datasets: [] }),
      await openRig(server, 'rig-2', { datasets: [] }),
    ];
    await second.beat({ datasets: [createdVersion.version] });
    const job = valueOf(await submit(createdVersion.version));
    expect(job).toMatchObject({ status: 'running', allocated_worker_id: second.id });
    const secondJob = valueOf(await submit(createdVersion.version));
    expect(secondJob).toMatchObject({ allocated_worker_id: first.id });
    const third = valueOf(await submit(createdVersion.version));
    const { workers } = valueOf(
      await server.admin.call(queueApi.explain, { params: { id: JobId.parse(third.job_id) } }),
    );
    expect(workers.map(({ name, datasets }) => [name, datasets])).toEqual([
      ['rig-1', { here: 0, wanted: 1 }],
      ['rig-2', { here: 1, wanted: 1 }],
    ]);
  });

  test('names the workers with a dataset only for users who may list workers', async () => {
    const viewer = await createUser('vera', ['queue.view']);
    await openRig(server, 'rig-1', { datasets: [valueOf(await push('photos', photos)).version] });
    const { datasets } = valueOf(await viewer.client.call(datasetsApi.list, { query: {} }));
    expect(datasets).toMatchObject([{ name: 'photos' }]);
    expect(datasets[0]).not.toHaveProperty('workers');
    expect(datasets[0]).not.toHaveProperty('workers_count');
  });

  test('counts all workers with a dataset, but names at most 20', async () => {
    const { version } = valueOf(await push('photos', photos));
    for (let rig = 1; rig <= 21; rig += 1) await openRig(server, `rig-${rig}`, { datasets: [version] });
    const [photosView] = (await list()).datasets;
    expect(photosView?.workers).toHaveLength(20);
    expect(photosView?.workers_count).toBe(21);
  });

  test('lists the datasets on a worker only for users who may see these datasets', async () => {
    const alice = await createUser('alice', ['queue.view.own']);
    const createdVersion = valueOf(await push('photos', photos));
    await push('others', { 'a.jpg': 'another' });
    const rig = await openRig(server, 'rig-1', {
      datasets: [createdVersion.version, sha256('of another server')],
    });
    const listOnRig = async ({ client }: ApiUser = admin()) =>
      client.call(datasetsApi.list, { query: { worker_id: rig.id } });
    expect(valueOf(await listOnRig()).datasets).toMatchObject([
      { id: createdVersion.id, version: createdVersion.version },
    ]);
    expect((await list()).datasets.map(each => [each.name, each.workers, each.workers_count])).toEqual([
      ['others', [], 0],
      ['photos', ['rig-1'], 1],
    ]);
    expect(valueOf(await listOnRig(alice)).datasets).toEqual([]);
    await push('photos', { 'a.jpg': 'newer' });
    expect(valueOf(await listOnRig()).datasets).toMatchObject([{ id: createdVersion.id, newest: false }]);
    await rig.beat({ datasets: [] });
    expect(valueOf(await listOnRig()).datasets).toEqual([]);
    const unknown = await server.admin.call(datasetsApi.list, { query: { worker_id: 'w_none' } });
    expect(unknown).toMatchObject({ ok: false, failure: { problem: { code: 'worker_not_found' } } });
  });

  test('refuses a job whose data is not stored', async () => {
    expect(await submit(sha256('nothing'))).toMatchObject({
      ok: false,
      failure: {
        problem: {
          code: 'dataset_not_found',
          detail: expect.stringContaining('trainyard data push') as unknown,
        },
      },
    });
  });

  test('refuses a job with the data of another user whose jobs the submitter cannot see', async () => {
    const alice = await createUser('alice', ['queue.view.own', 'queue.submit.own']);
    const createdVersion = valueOf(await push('photos', photos));
    expect(await submit(createdVersion.version, alice)).toMatchObject({
      ok: false,
      failure: { problem: { code: 'dataset_not_found' } },
    });
    expect((await list(true, alice)).datasets).toEqual([]);
    const params = { id: createdVersion.id };
    expect(await alice.client.call(datasetsApi.pin, { params, body: { pinned: true } })).toMatchObject({
      ok: false,
      failure: { problem: { code: 'dataset_not_found' } },
    });
    expect((await prune(['photos'], alice)).removed).toEqual([]);
    expect(valueOf(await push('photos', photos, alice)).owner).toBe('alice');
    expect((await submit(createdVersion.version, alice)).ok).toBe(true);
  });

  const detailOf = async (id: string, user: ApiUser = admin()) =>
    valueOf(await user.client.call(queueApi.get, { params: { id: JobId.parse(id) } }));

  test('shows the data of a job with its dataset', async () => {
    const createdVersion = valueOf(await push('photos', photos));
    const job = valueOf(await submit(createdVersion.version));
    expect((await detailOf(String(job.job_id))).data).toEqual([
      {
        path: '/home/me/photos',
        version: createdVersion.version,
        files: 3,
        bytes: createdVersion.bytes,
        is_file: false,
        dataset: { id: createdVersion.id, name: 'photos' },
      },
    ]);
  });

  test("shows the user's own dataset when several users pushed the same files", async () => {
    const alice = await createUser('alice', ['queue.view.own', 'queue.submit.own']);
    const ownVersion = valueOf(await push('alices', photos, alice));
    const job = valueOf(await submit(ownVersion.version, alice));
    await push('photos', photos);
    const { data } = await detailOf(String(job.job_id), alice);
    expect(data.map(({ dataset }) => dataset)).toEqual([{ id: ownVersion.id, name: 'alices' }]);
  });

  test('does not name a dataset that the user may no longer use', async () => {
    const createdVersion = valueOf(await push('photos', photos));
    const reader = await createUser('reader', ['queue.view', 'queue.submit']);
    const job = valueOf(await submit(createdVersion.version, reader));
    const { tokens } = valueOf(await server.admin.call(tokensApi.list));
    const token = tokens.find(({ name }) => name === 'reader');
    await server.admin.call(tokensApi.revoke, { params: { id: token?.id ?? '' } });
    const { data } = await detailOf(String(job.job_id));
    expect(data.map(({ version, dataset }) => [version, dataset])).toEqual([[createdVersion.version, null]]);
  });

  test('shows no data for a job without data', async () => {
    const job = valueOf(await server.admin.call(queueApi.submit, { body: { config: {} } }));
    expect((await detailOf(String(job.job_id))).data).toEqual([]);
  });

  test('keeps a dataset version until the job that uses it is deleted', async () => {
    const first = valueOf(await push('photos', photos));
    const job = valueOf(await submit(first.version));
    await push('photos', { 'a.jpg': 'another' });
    expect((await prune(['photos'])).removed.map(({ version }) => version)).not.toContain(first.version);
    const params = { id: JobId.parse(job.job_id) };
    await server.admin.call(queueApi.cancel, { params });
    await server.admin.call(queueApi.remove, { params });
    expect((await prune(['photos'])).removed.map(({ id }) => id)).toEqual([first.id]);
  });
});

describe('pruning datasets', () => {
  test('prunes older dataset versions, and contents that no other version uses', async () => {
    await push('photos', photos);
    await push('photos', { 'a.jpg': 'one' });
    expect((await prune()).removed).toHaveLength(1);
    await expect.poll(() => storedHashes()).toHaveLength(2);
    expect(await missing(sha256('one'), sha256('two'))).toEqual([sha256('two')]);
  });

  test('removes a named dataset completely, unless it is pinned', async () => {
    const { id } = valueOf(await push('photos', photos));
    await server.admin.call(datasetsApi.pin, { params: { id }, body: { pinned: true } });
    expect((await prune(['photos'])).removed).toEqual([]);
    await server.admin.call(datasetsApi.pin, { params: { id }, body: { pinned: false } });
    expect((await prune(['photos'])).removed).toHaveLength(1);
    await expect.poll(() => storedHashes()).toEqual([]);
    expect(await list(true)).toMatchObject({ datasets: [], stored_bytes: 0 });
  });

  test('lists what pruning would remove in a dry run, without removing it', async () => {
    await push('photos', photos);
    const body = { names: ['photos'], dry_run: true };
    expect(valueOf(await server.admin.call(datasetsApi.prune, { body })).removed).toHaveLength(1);
    expect((await list()).datasets).toHaveLength(1);
  });

  test('prunes exactly the given dataset versions, including the newest version', async () => {
    const first = valueOf(await push('photos', photos));
    const second = valueOf(await push('photos', { 'a.jpg': 'another' }));
    const other = valueOf(await push('cats', { 'cat.jpg': 'a cat' }));
    const { removed } = await pruneVersions([second.id, other.id]);
    expect(new Set(removed.map(({ id }) => id))).toEqual(new Set([second.id, other.id]));
    expect((await list(true)).datasets.map(({ id, newest }) => [id, newest])).toEqual([[first.id, true]]);
  });

  test('does not prune a given dataset version that is pinned or belongs to another user', async () => {
    const alice = await createUser('alice', ['queue.view.own', 'queue.submit.own']);
    const pinned = valueOf(await push('photos', photos));
    await server.admin.call(datasetsApi.pin, { params: { id: pinned.id }, body: { pinned: true } });
    const otherUsersVersion = valueOf(await push('cats', { 'cat.jpg': 'a cat' }));
    expect((await pruneVersions([pinned.id])).removed).toEqual([]);
    expect((await pruneVersions([otherUsersVersion.id], { by: alice })).removed).toEqual([]);
    expect((await list()).datasets).toHaveLength(2);
  });

  test('counts the freed bytes of each content once', async () => {
    const manifest = (texts: Readonly<Record<string, string>>): number => manifestText(filesOf(texts)).length;
    const first = { 'a.jpg': 'shared', 'b.jpg': 'first', 'c.jpg': 'first' };
    const older = valueOf(await push('photos', first));
    await push('photos', { 'a.jpg': 'shared', 'b.jpg': 'second' });
    const expected = 'first'.length + manifest(first);
    const before = (await list()).stored_bytes;
    expect((await pruneVersions([older.id], { isDryRun: true })).freed_bytes).toBe(expected);
    expect((await list()).stored_bytes).toBe(before);
    expect((await prune()).freed_bytes).toBe(expected);
    await expect.poll(async () => (await list()).stored_bytes).toBe(before - expected);
    expect((await prune()).freed_bytes).toBe(0);
  });

  test('refuses to prune by names and versions together', async () => {
    const body = { names: ['photos'], versions: [1] };
    expect(await server.admin.call(datasetsApi.prune, { body })).toMatchObject({
      ok: false,
      failure: { problem: { code: 'invalid_request' } },
    });
  });
});
