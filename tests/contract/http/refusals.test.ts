import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createFailureLimit, type FailureLimit } from '../../../main/http/auth/failures.ts';
import { auditApi } from '../../../protocol/admin-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

async function openServer(failureLimit?: FailureLimit): Promise<TestServer> {
  const server = await startTestServer(failureLimit && { failureLimit });
  onTestFinished(() => server.close());
  return server;
}

const request = (
  server: TestServer,
  headers: Readonly<Record<string, string>>,
  path = '/api/queue?note=secret',
) => fetch(server.url + path, { headers });

const refusals = async (server: TestServer) =>
  valueOf(await server.admin.call(auditApi.list, { query: { event_type: 'auth.*', limit: 500 } })).entries;

test("audits an invalid token of any kind with the client's address and the start of the token's hash", async () => {
  const server = await openServer();
  const invalidToken = 'tk_not-one-of-ours';
  await request(server, { authorization: `Bearer ${invalidToken}` });
  await request(server, { 'x-worker-token': invalidToken }, '/api/workers/queue');
  await request(server, { cookie: `trainyard_session=${invalidToken}` });
  const sha256 = createHash('sha256').update(invalidToken).digest('hex').slice(0, 8);
  const entries = await refusals(server);
  expect(entries.map(({ target_id: call }) => call)).toEqual([
    'GET /api/queue',
    'GET /api/workers/queue',
    'GET /api/queue',
  ]);
  for (const entry of entries)
    expect(entry).toMatchObject({
      event_type: 'auth.refused',
      actor_type: 'system',
      address: '127.0.0.1',
      target_type: 'call',
      details: { why: 'token_invalid', sha256 },
    });
  expect(JSON.stringify(entries)).not.toContain(invalidToken);
});

test('audits a failed sign-in, but not a call without any token', async () => {
  const server = await openServer();
  await request(server, {});
  await fetch(`${server.url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url, 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ code: 'guessed' }),
  });
  expect(await refusals(server)).toMatchObject([
    { target_id: 'POST /api/session', details: { why: 'code_invalid' } },
  ]);
});

test('limits failed calls of an address, but accepts a valid token from this address', async () => {
  // The clock of the limit stands still, because the limit allows one more try each second.
  const server = await openServer(createFailureLimit(() => 0));
  const statuses = new Map<number, number>();
  for (let n = 0; n < 200; n += 1) {
    const { status, headers } = await request(server, { authorization: `Bearer tk_${n}` });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([401, 429]);
  const entries = await refusals(server);
  expect(entries.filter(({ event_type: type }) => type === 'auth.limited')).toHaveLength(1);
  // An address has 60 tries. The trail records 30 refusals, and only counts further refusals.
  expect(statuses.get(401)).toBe(60);
  expect(entries.filter(({ event_type: type }) => type === 'auth.refused')).toHaveLength(30);
});

test('limits a token to a hundred open streams', async () => {
  const server = await openServer();
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const open = () => fetch(`${server.url}/api/events`, { headers, signal: controller.signal });
  // The test server itself already has one open stream.
  const streams = await Promise.all(Array.from({ length: 99 }, open));
  expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 99 }, () => 200));
  const response = await open();
  expect([response.status, ((await response.json()) as { readonly code: string }).code]).toEqual([
    429,
    'too_many_streams',
  ]);
  await streams[0]?.body?.cancel();
  await expect.poll(async () => (await open()).status).toBe(200);
});
