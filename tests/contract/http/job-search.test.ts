import { afterAll, beforeAll, expect, test } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  for (const [index, name] of ['beta', 'Alpha', 'gamma', 'alpha-2'].entries())
    await server.submit({ config: {}, config_name: name, gpu_count: 777, priority: index * 10 });
  const id = await server.submit({ config: {}, config_name: 'delta', gpu_count: 777 });
  valueOf(await server.admin.call(queueApi.cancel, { params: { id } }));
  await server.submit({ config: {}, config_name: 'epsilon', requires_approval: true });
});
afterAll(() => server.close());

const list = async (query: object) => valueOf(await server.admin.call(queueApi.list, { query }));
const names = async (query: object) =>
  (await list(query)).entries.map(({ config_name: name }) => name.toLowerCase());

async function listAllPages(query: object): Promise<readonly string[]> {
  const allNames: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await list({ ...query, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    allNames.push(...page.entries.map(({ config_name: name }) => name.toLowerCase()));
    cursor = page.next_cursor;
  }
  return allNames;
}

test('sorts jobs by name and by priority across pages in both directions', async () => {
  const byName = ['alpha', 'alpha-2', 'beta', 'delta', 'epsilon', 'gamma'];
  expect(await names({ sort: 'name', order: 'asc' })).toEqual(byName);
  expect(await listAllPages({ sort: 'name', order: 'asc' })).toEqual(byName);
  expect(await listAllPages({ sort: 'name' })).toEqual(byName.toReversed());
  expect(await listAllPages({ sort: 'priority' })).toEqual(await names({ sort: 'priority' }));
  expect((await listAllPages({ order: 'asc' }))[0]).toBe('beta');
});

test('filters jobs by search terms', async () => {
  expect(await names({ q: 'state:blocked,cancelled', sort: 'name', order: 'asc' })).toEqual([
    'delta',
    'epsilon',
  ]);
  expect(await names({ q: 'ALPHA -2' })).toEqual(['alpha-2']);
  expect(await names({ q: 'user:admin alpha', sort: 'name', order: 'asc' })).toEqual(['alpha', 'alpha-2']);
});

test('counts matching jobs on all pages, and by status', async () => {
  expect((await list({ limit: 1 })).counts).toBeUndefined();
  expect((await list({ limit: 1, counts: true })).counts).toEqual({
    total: 6,
    by_status: { pending: 5, cancelled: 1 },
    blocked: 1,
  });
  const { counts } = await list({ limit: 1, counts: true, q: 'state:pending a' });
  expect(counts).toEqual({ total: 4, by_status: { pending: 5, cancelled: 1 }, blocked: 1 });
  expect((await list({ counts: true, status: 'cancelled' })).counts?.total).toBe(1);
  expect((await list({ counts: true, blocked: true })).counts?.total).toBe(1);
  expect((await list({ counts: true, q: 'nothing-like-it' })).counts).toEqual({
    total: 0,
    by_status: {},
    blocked: 0,
  });
});

test.each([
  ['an unknown sort', { sort: 'age' }, /sort/],
  ['an unknown order', { order: 'up' }, /order/],
  ['nine terms', { q: 'a b c d e f g h i' }, /8 terms/],
  ['a number as the cursor of a list sorted by name', { sort: 'name', cursor: '12' }, /cursor/],
  ['an invalid cursor', { sort: 'name', cursor: 'W10' }, /cursor/],
])('refuses a list of jobs with %s', async (_what, query, detailPattern) => {
  const answer = await server.admin.call(queueApi.list, { query: { ...query } as object });
  if (answer.ok || answer.failure.kind !== 'problem') throw new Error('the query was not refused');
  expect(answer.failure.problem).toMatchObject({
    code: 'invalid_request',
    detail: expect.stringMatching(detailPattern),
  });
});

test('refuses a cursor from a list of jobs with another sort', async () => {
  const { next_cursor: cursor } = await list({ sort: 'name', limit: 1 });
  const answer = await server.admin.call(queueApi.list, {
    query: { sort: 'worker', limit: 1, ...(cursor !== null && { cursor }) },
  });
  expect(answer).toMatchObject({ ok: false, failure: { problem: { code: 'invalid_request' } } });
});
