import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { urlOf } from '../../../protocol/client.ts';
import { everyCall } from '../../support/every-call.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ failureLimit: { note: () => 'count' } });
});
afterAll(() => server.close());

const Problem = z.object({
  code: z.string(),
  detail: z.string(),
  errors: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
});

async function request(pathAndQuery: string) {
  const response = await fetch(server.url + pathAndQuery, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  const body: unknown = await response.json();
  return { status: response.status, problem: Problem.safeParse(body).data };
}

test.each([
  ['/api/queue?statsu=running', 'statsu', 'unknown key; did you mean `status`?'],
  ['/api/queue?Status=running', 'Status', 'unknown key; did you mean `status`?'],
  ['/api/queue?include=true', 'include', 'unknown key; did you mean `include_completed`?'],
  ['/api/admin/workers?status=idle', 'status', 'unknown key; did you mean `status_filter`?'],
  ['/api/audit/verify?start=3', 'start', 'unknown key; did you mean `start_id`?'],
  ['/api/queue/status?x=1', 'x', 'this call takes no query'],
  ['/health/live?x=1', 'x', 'this call takes no query'],
])('refuses the query of %s, and names its unknown key', async (path, field, message) => {
  const { status, problem } = await request(path);
  expect([status, problem]).toEqual([
    400,
    { code: 'invalid_request', detail: `${field}: ${message}`, errors: [{ field, message }] },
  ]);
});

test('refuses __proto__ and constructor as query keys', async () => {
  expect((await request('/api/queue?__proto__=1&constructor=2')).status).toBe(400);
});

test.each(
  everyCall.filter(row => row.authority === 'open').map(row => [`${row.method} ${row.path}`, row] as const),
)('refuses an unknown query key for %s', async (_name, row) => {
  const url = urlOf(server.url, row.path, { id: 'x' }, { no_such_key: '1' });
  const response = await fetch(url, { method: row.method });
  // The answer may contain further errors, such as a missing field of the body.
  const body: unknown = await response.json();
  expect([response.status, Problem.parse(body).errors.map(({ field }) => field)]).toEqual([
    400,
    expect.arrayContaining(['no_such_key']),
  ]);
});

test("accepts a worker's stream request and job query without a worker id", async () => {
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
  const body = JSON.stringify({ protocol: 2, persistent: true, gpu_count: 1 });
  await fetch(`${server.url}/api/workers/register`, { method: 'POST', headers, body });
  const controller = new AbortController();
  const stream = await fetch(`${server.url}/api/workers/stream`, { headers, signal: controller.signal });
  expect([stream.status, stream.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  await server.watch.worker(id, 'idle');
  expect((await fetch(`${server.url}/api/workers/queue`, { headers })).status).toBe(200);
  const other = await fetch(`${server.url}/api/workers/stream?worker_id=w_other`, { headers });
  expect(other.status).toBe(403);
  controller.abort();
});

test('gives every call an object schema with known keys for its query', () => {
  for (const { query } of everyCall) expect(query).toBeInstanceOf(z.ZodObject);
});
