import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

async function openServer(dataDir?: string): Promise<TestServer> {
  const server = await startTestServer(dataDir === undefined ? {} : { dataDir });
  onTestFinished(() => server.close());
  return server;
}

// Signs in. Returns the session cookie.
async function signIn(server: TestServer, token: string, agent = firefox): Promise<string> {
  const response = await fetch(`${server.url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url, 'user-agent': agent },
    body: JSON.stringify({ token }),
  });
  expect(response.status).toBe(200);
  return (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
}

async function userOf(server: TestServer, cookie: string): Promise<unknown> {
  const response = await fetch(`${server.url}/api/session`, { headers: { cookie } });
  return ((await response.json()) as { user: unknown }).user;
}

const sessionsOf = async ({ admin }: TestServer) => valueOf(await admin.call(sessionApi.list)).sessions;

const listAuditRows = async ({ admin }: TestServer, event_type: string) =>
  valueOf(await admin.call(auditApi.list, { query: { event_type } })).entries;

// Opens the event stream with this cookie. The returned function resolves when the server closes the stream.
async function followToEnd(server: TestServer, cookie: string): Promise<() => Promise<void>> {
  const { body } = await fetch(`${server.url}/api/events`, { headers: { cookie } });
  const reader = body?.getReader();
  await reader?.read();
  return async () => {
    while ((await reader?.read())?.done === false);
  };
}

test('ends a session when the admin token that opened it was replaced', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'trainyard-session-'));
  const first = await startTestServer({ dataDir });
  const cookie = await signIn(first, first.adminToken);
  expect(await userOf(first, cookie)).toBe('admin');
  await first.close();
  const restarted = await startTestServer({ dataDir });
  expect(await userOf(restarted, cookie)).toBe('admin');
  await restarted.close();
  writeFileSync(join(dataDir, 'admin-token'), 'ta_another-token-of-this-folder\n', { mode: 0o600 });
  const replaced = await openServer(dataDir);
  expect(await userOf(replaced, cookie)).toBeNull();
  const createTokenResponse = await fetch(`${replaced.url}/api/tokens`, {
    method: 'POST',
    headers: { cookie, origin: replaced.url, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'kept', permissions: ['admin.tokens'] }),
  });
  expect(createTokenResponse.status).toBe(401);
  expect(await sessionsOf(replaced)).toEqual([]);
  expect(await listAuditRows(replaced, 'session.expired')).toMatchObject([
    { actor_type: 'system', target_type: 'session', details: { user: 'admin', reason: 'token_changed' } },
  ]);
});

test('lists a session with its device, address and times, and without its secret', async () => {
  const server = await openServer();
  const cookie = await signIn(server, server.adminToken);
  const sessions = await sessionsOf(server);
  expect(sessions).toMatchObject([
    { user: 'admin', token_id: null, device: 'Firefox 140 on Linux', address: '127.0.0.1', current: false },
  ]);
  expect(JSON.stringify(sessions)).not.toContain(cookie.split('=')[1]);
  const response = await fetch(`${server.url}/api/sessions`, { headers: { cookie } });
  expect(await response.json()).toMatchObject({
    sessions: [{ current: true, last_used_at: expect.any(String) }],
  });
  expect(await listAuditRows(server, 'session.created')).toMatchObject([
    { target_id: sessions[0]?.id, details: { user: 'admin', device: 'Firefox 140 on Linux' } },
  ]);
});

test('refuses a revoked session and ends its streams', async () => {
  const server = await openServer();
  const cookie = await signIn(server, server.adminToken);
  const other = await signIn(server, server.adminToken);
  const waitForEnd = await followToEnd(server, cookie);
  const [newest, oldest] = await sessionsOf(server);
  if (newest === undefined || oldest === undefined) throw new Error('a session is missing');
  valueOf(await server.admin.call(sessionApi.revoke, { params: { id: oldest.id } }));
  await waitForEnd();
  expect(await userOf(server, cookie)).toBeNull();
  expect(await userOf(server, other)).toBe('admin');
  expect(await listAuditRows(server, 'session.revoked')).toMatchObject([
    { actor_id: 'admin', target_id: oldest.id, details: { user: 'admin' } },
  ]);
  expect(await server.admin.call(sessionApi.revoke, { params: { id: oldest.id } })).toMatchObject({
    ok: false,
    failure: { status: 404, problem: { code: 'session_not_found' } },
  });
});

test('keeps the current session when all others are revoked', async () => {
  const server = await openServer();
  const [keptCookie, revokedCookie] = [
    await signIn(server, server.adminToken),
    await signIn(server, server.adminToken),
  ];
  const response = await fetch(`${server.url}/api/sessions?keep_current=true`, {
    method: 'DELETE',
    headers: { cookie: keptCookie, origin: server.url },
  });
  expect(await response.json()).toEqual({ success: true, revoked: 1 });
  expect([await userOf(server, keptCookie), await userOf(server, revokedCookie)]).toEqual(['admin', null]);
  expect(valueOf(await server.admin.call(sessionApi.revokeAll))).toMatchObject({ revoked: 1 });
  expect(await userOf(server, keptCookie)).toBeNull();
});

test('ends the sessions of a revoked API token and audits the reason', async () => {
  const server = await openServer();
  const body = { name: 'lena', permissions: ['queue.view' as const] };
  const { id, token } = valueOf(await server.admin.call(tokensApi.create, { body }));
  const cookie = await signIn(server, token);
  expect(await sessionsOf(server)).toMatchObject([{ user: 'lena', token_id: id }]);
  valueOf(await server.admin.call(tokensApi.revoke, { params: { id } }));
  expect(await userOf(server, cookie)).toBeNull();
  expect(await listAuditRows(server, 'session.expired')).toMatchObject([
    { actor_id: 'admin', details: { user: 'lena', reason: 'token_revoked' } },
  ]);
});

test('removes a session from the list when its user signs out', async () => {
  const server = await openServer();
  const cookie = await signIn(server, server.adminToken);
  await fetch(`${server.url}/api/session`, { method: 'DELETE', headers: { cookie, origin: server.url } });
  expect(await sessionsOf(server)).toEqual([]);
});

test.each([
  [firefox, 'Firefox 140 on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0',
    'Edge 131 on Windows',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
    'Safari 18 on iOS',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
    'Chrome 131 on macOS',
  ],
  ['curl/8.11.0', 'curl 8'],
  ['\u00ff<script>alert(1)</script>', null],
])('shows the session of the User-Agent %j with the device %j', async (agent, device) => {
  const server = await openServer();
  await signIn(server, server.adminToken, agent);
  expect(await sessionsOf(server)).toMatchObject([{ device }]);
});
