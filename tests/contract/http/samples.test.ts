/** The list of samples of all jobs: order, filters, pages, ownership and bad input. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { QueryOf } from '../../../protocol/call.ts';
import type { Client } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob, upload } from '../../support/upload-bench.ts';

let server: TestServer;
let rig: Rig;
let first: JobOffer;
let second: JobOffer;
let alice: Client;

beforeAll(async () => {
  server = await startTestServer();
  rig = await openRig(server);
  first = await startJob(server, rig);
  await uploadFiles(first, ['validation_images/step_100_cat_0_64x64.png', 'checkpoint-100.bin']);
  await uploadFiles(first, ['validation_images/step_200_cat_0_64x64.png', 'scan.png']);
  await rig.report(first, 'completed');
  const body = { name: 'alice', permissions: ['queue.view.own' as const, 'queue.submit.own' as const] };
  const { token } = valueOf(await server.admin.call(tokensApi.create, { body }));
  alice = adminClient(server.url, token);
  valueOf(await alice.call(queueApi.submit, { body: { config_name: 'of-alice', config: {} } }));
  second = await rig.nextOffer();
  for (const status of ['starting', 'running']) await rig.report(second, status);
  await uploadFiles(second, [
    'samples/1713012345678__000000150_1.jpg',
    'sample_e000003_02_20240101123456.png',
  ]);
});
afterAll(() => server.close());

async function uploadFiles(offer: JobOffer, keys: readonly string[]): Promise<void> {
  for (const key of keys)
    expect((await upload(server.url, offer.token, key, { body: key })).status).toBe(200);
}

type Query = Partial<Record<keyof QueryOf<typeof artifactsApi.samples>, string>>;

const request = (query: Query, token = server.adminToken): Promise<Response> =>
  fetch(`${server.url}/api/samples?${new URLSearchParams(query).toString()}`, {
    headers: { authorization: `Bearer ${token}` },
  });

async function list(query: Query = {}) {
  const answer = await request(query);
  expect(answer.status).toBe(200);
  return artifactsApi.samples.reply.parse(await answer.json());
}
const keysOf = async (query: Query = {}) => (await list(query)).samples.map(({ key }) => key);

const keysOfFirst = [
  'scan.png',
  'validation_images/step_200_cat_0_64x64.png',
  'validation_images/step_100_cat_0_64x64.png',
];
const keysOfSecond = ['sample_e000003_02_20240101123456.png', 'samples/1713012345678__000000150_1.jpg'];

describe('the list of samples', () => {
  test('lists the samples of all jobs newest first, and omits other files', async () => {
    const { samples, next_cursor: next } = await list();
    expect(samples.map(({ key }) => key)).toEqual([...keysOfSecond, ...keysOfFirst]);
    expect(next).toBeNull();
    expect(samples[1]).toMatchObject({
      job_id: second.jobId,
      config_name: 'of-alice',
      kind: 'sample_image',
      step: 150,
      epoch: null,
      prompt_index: 1,
      prompt: null,
    });
    expect(samples[0]).toMatchObject({ step: null, epoch: 3, prompt_index: 2 });
    expect(samples[3]).toMatchObject({ job_id: first.jobId, step: 200, prompt: 'cat' });
  });

  test('lists the samples of the jobs that the query names', async () => {
    expect(await keysOf({ job: first.jobId })).toEqual(keysOfFirst);
    expect(await keysOf({ job: `${second.jobId},${first.jobId},${first.jobId}` })).toEqual([
      ...keysOfSecond,
      ...keysOfFirst,
    ]);
    expect(await keysOf({ job: 'j_unknown' })).toEqual([]);
  });

  test('lists the samples in a range of steps, and omits samples without a step', async () => {
    expect(await keysOf({ from_step: '150' })).toEqual([keysOfSecond[1], keysOfFirst[1]]);
    expect(await keysOf({ to_step: '150' })).toEqual([keysOfSecond[1], keysOfFirst[2]]);
    expect(await keysOf({ from_step: '101', to_step: '149' })).toEqual([]);
  });

  test('returns each sample on exactly one page', async () => {
    const pages: string[][] = [];
    const query: Query = { limit: '2' };
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { samples, next_cursor: next } = await list(query);
      pages.push(samples.map(({ key }) => key));
      if (next !== null) query.cursor = next;
      cursor = next;
    }
    expect(pages.flat()).toEqual([...keysOfSecond, ...keysOfFirst]);
    expect(pages.map(page => page.length)).toEqual([2, 2, 1]);
  });

  test.each([
    ['five jobs', { job: 'a,b,c,d,e' }],
    ['an empty job', { job: '' }],
    ['an invalid job', { job: '../x' }],
    ['a negative step', { from_step: '-1' }],
    ['a step with a fraction', { to_step: '1.5' }],
    ['a step that is a word', { from_step: 'first' }],
    ['a limit of 0', { limit: '0' }],
    ['a limit above 500', { limit: '501' }],
    ['a cursor that is a word', { cursor: 'next' }],
    ['a negative cursor', { cursor: '-1' }],
  ])('refuses a query for samples with %s', async (_what, query) => {
    expect((await request(query)).status).toBe(400);
  });
});

describe('permissions for the list of samples', () => {
  test('shows a token with queue.view.own only the samples of its own jobs', async () => {
    const all = valueOf(await alice.call(artifactsApi.samples, { query: {} }));
    expect(all.samples.map(({ key }) => key)).toEqual(keysOfSecond);
    const otherUsersSamples = valueOf(
      await alice.call(artifactsApi.samples, { query: { job: first.jobId } }),
    );
    expect(otherUsersSamples).toEqual({ samples: [], next_cursor: null });
  });

  test('refuses requests without a token, and tokens that may not view jobs', async () => {
    expect((await request({}, 'wrong')).status).toBe(401);
    const body = { name: 'bob', permissions: ['admin.audit' as const] };
    const { token } = valueOf(await server.admin.call(tokensApi.create, { body }));
    expect((await request({}, token)).status).toBe(403);
  });
});
