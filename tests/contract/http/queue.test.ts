import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { queueApi } from '../../../protocol/queue-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const Reply = z.looseObject({
  code: z.string().optional(),
  detail: z.string().optional(),
  job_id: z.string().nullish(),
  success: z.boolean().optional(),
  idempotent_hit: z.boolean().optional(),
});

interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly to?: TestServer;
}

async function send(path: string, { method = 'POST', headers = {}, body, to = server }: RequestOptions = {}) {
  const response = await fetch(to.url + path, {
    method,
    headers: {
      authorization: `Bearer ${to.adminToken}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { ...Reply.parse(await response.json()), status: response.status };
}

const submit = (body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  send('/api/queue/submit', { headers, body: { config: {}, ...body } });

const newestSeq = async (): Promise<number> => (await list({ limit: 1 })).as_of_seq;
const list = async (query: object) => valueOf(await server.admin.call(queueApi.list, { query }));

describe('invalid input of queue calls', () => {
  test.each<readonly [what: string, path: string, request: RequestOptions, detail: RegExp]>([
    ['a negative limit', '/api/queue/concurrency', { body: { max_concurrent: -1 } }, /max_concurrent/],
    ['a fractional limit', '/api/queue/concurrency', { body: { max_concurrent: 1.5 } }, /max_concurrent/],
    [
      'a text as limit',
      '/api/queue/concurrency',
      { body: { user_max_concurrent: '3' } },
      /user_max_concurrent/,
    ],
    ['an unknown limit', '/api/queue/concurrency', { body: { max: 3 } }, /max/],
    [
      'a limit that is too large',
      '/api/queue/concurrency',
      { body: { max_concurrent: 1e9 } },
      /max_concurrent/,
    ],
    ['a note of several lines', '/api/queue/pause', { body: { note: 'a\nb' } }, /note/],
    ['a note of 501 characters', '/api/queue/pause', { body: { note: 'x'.repeat(501) } }, /note/],
    ['a note that is a number', '/api/queue/pause', { body: { note: 3 } }, /note/],
    ['a pause with an unknown field', '/api/queue/pause', { body: { note: 'a', until: 1 } }, /until/],
    ['empty days', '/api/queue/cleanup?days=', {}, /days/],
    ['blank days', '/api/queue/cleanup?days=%20', {}, /days/],
    ['negative days', '/api/queue/cleanup?days=-1', {}, /^days: must be at least 1$/],
    ['a text as days', '/api/queue/cleanup?days=all', {}, /^days: must be a number$/],
    ['infinite days', '/api/queue/cleanup?days=Infinity', {}, /days/],
    ['a missing priority', '/api/queue/j_1/priority', { body: {} }, /priority/],
    ['a priority of 51', '/api/queue/j_1/priority', { body: { priority: 51 } }, /priority/],
    ['an unknown priority', '/api/queue/j_1/priority', { body: { priority: 'asap' } }, /priority/],
    ['a move without a target', '/api/queue/j_1/move', { body: {} }, /before/],
    ['a move with two targets', '/api/queue/j_1/move', { body: { before: 'j_2', after: 'j_3' } }, /before/],
    ['a move to a number', '/api/queue/j_1/move', { body: { before: 3 } }, /before/],
    [
      'a priority with an unknown field',
      '/api/queue/j_1/priority',
      { body: { priority: 1, top: true } },
      /top/,
    ],
    ['a reason of several lines', '/api/queue/j_1/reject?reason=a%0Ab', {}, /reason/],
    ['a reason of 501 characters', `/api/queue/j_1/reject?reason=${'x'.repeat(501)}`, {}, /reason/],
    ['an unknown status', '/api/queue?status=done', { method: 'GET' }, /status/],
    [
      'an unknown status next to a known status',
      '/api/queue?status=running,done',
      { method: 'GET' },
      /status/,
    ],
    ['an empty status', '/api/queue?status=', { method: 'GET' }, /status/],
    ['a text as cursor', '/api/queue?cursor=next', { method: 'GET' }, /cursor/],
    ['a negative cursor', '/api/queue?cursor=-1', { method: 'GET' }, /cursor/],
    ['a page size of 501', '/api/queue?limit=501', { method: 'GET' }, /limit/],
    ['a page size of 0', '/api/queue?limit=0', { method: 'GET' }, /limit/],
    ['an invalid "blocked"', '/api/queue?blocked=perhaps', { method: 'GET' }, /blocked/],
    ['a search text of 201 characters', `/api/queue?q=${'x'.repeat(201)}`, { method: 'GET' }, /q/],
    ['a worker id with a path in it', '/api/queue?worker_id=..%2f', { method: 'GET' }, /worker_id/],
  ])('refuses %s, names the field, and changes nothing', async (_what, path, options, detailPattern) => {
    const before = await newestSeq();
    const { status, code, detail } = await send(path, options);
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(detail).toMatch(detailPattern);
    expect(await newestSeq()).toBe(before);
  });

  test.each([
    ['DELETE', ''],
    ['POST', '/retry'],
    ['POST', '/top'],
    ['POST', '/approve'],
    ['POST', '/reject'],
  ])('returns job_not_found for %s /api/queue/<unknown id>%s', async (method, action) => {
    expect(await send(`/api/queue/j_nothere${action}`, { method })).toMatchObject({
      status: 404,
      code: 'job_not_found',
    });
  });

  test('does not take the name of a queue call for a job id', async () => {
    for (const word of ['status', 'stats', 'me', 'concurrency', 'waiting'])
      expect(await send(`/api/queue/${word}`, { method: 'GET' })).toMatchObject({ status: 200 });
  });
});

describe('header Idempotency-Key', () => {
  test('returns the same job for a repeated idempotency key, with JSON keys in any order', async () => {
    const key = { 'idempotency-key': 'nightly-1' };
    const first = await submit({ config: { a: 1, b: { c: 2, d: [1, 2] } }, priority: 'high' }, key);
    const repeated = await submit({ priority: 20, config: { b: { d: [1, 2], c: 2 }, a: 1 } }, key);
    expect(first.success).toBe(true);
    expect(first.idempotent_hit).toBe(false);
    expect(repeated).toEqual({ ...first, idempotent_hit: true });
  });

  test.each<readonly [string, object]>([
    ['another config', { config: { a: 2 } }],
    ['lists in another order', { config: { a: [2, 1] } }],
    ['another priority', { config: { a: [1, 2] }, priority: 11 }],
  ])('refuses a used idempotency key with %s', async (action, body) => {
    const key = { 'idempotency-key': `other-${action.replaceAll(' ', '-')}` };
    expect((await submit({ config: { a: [1, 2] } }, key)).status).toBe(200);
    const before = await newestSeq();
    expect(await submit(body, key)).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect(await newestSeq()).toBe(before);
  });

  test('treats an idempotency key in the header like a key in the body', async () => {
    const first = await submit({ idempotency_key: 'both' });
    const repeat = { ...first, idempotent_hit: true };
    expect(await submit({}, { 'idempotency-key': 'both' })).toEqual(repeat);
    expect(await submit({ idempotency_key: 'both' }, { 'idempotency-key': 'both' })).toEqual(repeat);
  });

  test.each([
    ['no characters', ''],
    ['a space', 'a b'],
    ['an umlaut', 'gr\u00f6\u00dfe'],
    ['256 characters', 'x'.repeat(256)],
    ['another key than the body', 'header-key'],
  ])('refuses an idempotency key header with %s', async (_what, key) => {
    const before = await newestSeq();
    const answer = await submit({ idempotency_key: 'body-key' }, { 'idempotency-key': key });
    expect(answer).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(answer.detail).toMatch(/Idempotency-Key/);
    expect(await newestSeq()).toBe(before);
  });

  test('accepts an idempotency key of 255 printable characters', async () => {
    const key = { 'idempotency-key': `x${'!~'.repeat(127)}` };
    const first = await submit({}, key);
    expect(await submit({}, key)).toEqual({ ...first, idempotent_hit: true });
  });
});

test('refuses to delete or retry a running or pending job, and deletes an ended job', async () => {
  const to = await startTestServer();
  onTestFinished(() => to.close());
  const { id, token } = await to.createWorker({ name: 'rig' });
  const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
  const body = JSON.stringify({ protocol: 2, persistent: true, gpu_count: 1 });
  await fetch(`${to.url}/api/workers/register`, { method: 'POST', headers, body });
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  await fetch(`${to.url}/api/workers/stream?worker_id=${id}`, { headers, signal: controller.signal });
  await to.watch.worker(id, 'idle');
  const running = await to.submit({ config: {} });
  const waiting = await to.submit({ config: {} });
  for (const job of [running, waiting]) {
    expect(await send(`/api/queue/${job}`, { method: 'DELETE', to })).toMatchObject({
      status: 409,
      code: 'job_not_final',
    });
    expect(await send(`/api/queue/${job}/retry`, { to })).toMatchObject({
      status: 409,
      code: 'job_not_final',
    });
  }
  expect(await send(`/api/queue/${running}/top`, { to })).toMatchObject({
    status: 409,
    code: 'job_not_pending',
  });
  expect(await send(`/api/queue/${waiting}/approve`, { to })).toMatchObject({
    status: 409,
    code: 'no_approval_wanted',
  });
  await send(`/api/queue/${waiting}/cancel`, { to });
  expect(await send(`/api/queue/${waiting}`, { method: 'DELETE', to })).toEqual({
    status: 200,
    success: true,
    job_id: waiting,
  });
  expect(await send(`/api/queue/${waiting}`, { method: 'GET', to })).toMatchObject({ status: 404 });
});

test('returns the events of one job newest first, without addresses', async () => {
  const [job, other] = [await server.submit({ config: {} }), await server.submit({ config: {} })];
  await send(`/api/queue/${job}/top`);
  await send(`/api/queue/${other}/cancel`);
  const listEvents = async (query: object = {}) =>
    valueOf(await server.admin.call(queueApi.events, { params: { id: job }, query }));
  const all = await listEvents();
  expect(all.total).toBe(2);
  expect(all.entries).toEqual([
    expect.objectContaining({ event_type: 'job.moved_to_top', actor_type: 'admin', actor_id: 'admin' }),
    expect.objectContaining({ event_type: 'job.submitted' }),
  ]);
  for (const entry of all.entries)
    expect(Object.keys(entry).toSorted()).toEqual(
      ['seq', 'at', 'event_type', 'actor_type', 'actor_id', 'details'].toSorted(),
    );
  expect((await listEvents({ limit: 1, offset: 1 })).entries).toEqual(all.entries.slice(1));
  const get = (path: string) => send(path, { method: 'GET' });
  expect(await get('/api/queue/j_none/events')).toMatchObject({ status: 404, code: 'job_not_found' });
  expect(await get(`/api/queue/${job}/events?limit=501`)).toMatchObject({ status: 400 });
});

test('returns each of 120 jobs once across pages while jobs are added and deleted', async () => {
  const add = (config_name: string) => server.submit({ config: {}, config_name, gpu_count: 777 });
  const jobs = await Promise.all(Array.from({ length: 120 }, () => add('walk')));
  const listedIds: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await list({ q: 'WALK', limit: 17, ...(cursor !== null && { cursor: Number(cursor) }) });
    listedIds.push(...page.entries.map(({ id }) => id));
    cursor = page.next_cursor;
    await add('walk-on');
    // Delete a job of an earlier page. With offsets instead of cursors, the next page would now skip a job.
    const deletedId = listedIds.at(-2) ?? '';
    await send(`/api/queue/${deletedId}/cancel`);
    expect(await send(`/api/queue/${deletedId}`, { method: 'DELETE' })).toMatchObject({ status: 200 });
  } while (cursor !== null);
  expect(listedIds).toHaveLength(120);
  expect(new Set(listedIds)).toEqual(new Set(jobs));
});

test('returns the ids of pending jobs in queue order', async () => {
  const to = await startTestServer();
  onTestFinished(() => to.close());
  const readQueueOrder = async () => valueOf(await to.admin.call(queueApi.line));
  expect((await readQueueOrder()).job_ids).toEqual([]);
  const first = await to.submit({ config: {} });
  const urgent = await to.submit({ config: {}, priority: 'urgent' });
  await to.submit({ config: {}, requires_approval: true });
  const last = await to.submit({ config: {} });
  expect((await readQueueOrder()).job_ids).toEqual([urgent, first, last]);
  valueOf(await to.admin.call(queueApi.moveToTop, { params: { id: last } }));
  valueOf(await to.admin.call(queueApi.cancel, { params: { id: urgent } }));
  const { job_ids: ids, as_of_seq: seq } = await readQueueOrder();
  expect(ids).toEqual([last, first]);
  expect(seq).toBe(valueOf(await to.admin.call(queueApi.list, { query: { limit: 1 } })).as_of_seq);
});

test("accepts the limits in SimpleTuner's documentation, and returns the local figures", async () => {
  const documented = {
    max_concurrent: 10,
    user_max_concurrent: 3,
    team_max_concurrent: 10,
    enable_fair_share: false,
    local_gpu_max_concurrent: 6,
    local_job_max_concurrent: 2,
  };
  const ownServer = await startTestServer();
  onTestFinished(() => ownServer.close());
  expect((await send('/api/queue/concurrency', { body: documented, to: ownServer })).status).toBe(200);
  expect(valueOf(await ownServer.admin.call(queueApi.concurrency))).toMatchObject(documented);
  expect(valueOf(await ownServer.admin.call(queueApi.stats))).toMatchObject({
    ...documented,
    local: {
      running_jobs: 0,
      pending_jobs: 0,
      allocated_gpus: [],
      available_gpus: [],
      total_gpus: 0,
      max_concurrent_gpus: 6,
      max_concurrent_jobs: 2,
    },
    workers: { total_workers: 0, idle_workers: 0 },
  });
  expect((await send('/api/queue/concurrency', { body: { local_gpu_max: 6 }, to: ownServer })).code).toBe(
    'invalid_request',
  );
});
