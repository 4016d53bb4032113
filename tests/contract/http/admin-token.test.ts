import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import {
  adminClient,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../support/server.ts';
import { watchEvents } from '../../support/watch.ts';

const newToken = 'ta_the-new-token-of-this-test';

async function openServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  return server;
}

const tokenFile = ({ dataDir }: TestServer): string => join(dataDir, 'admin-token');

function replaceToken(server: TestServer, text: string, mode = 0o600): void {
  const draft = `${tokenFile(server)}.draft`;
  writeFileSync(draft, text);
  chmodSync(draft, mode);
  renameSync(draft, tokenFile(server));
}

async function statusFor(server: TestServer, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${server.url}/api/queue`, { headers })).status;
}

async function post(server: TestServer, path: string, body: object, token?: string): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      origin: server.url,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
}

async function signIn(server: TestServer, token: string): Promise<string> {
  const answer = await post(server, '/api/session', { token });
  return (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
}

const untilAccepted = (server: TestServer, token: string) =>
  expect.poll(() => statusFor(server, token), { timeout: 10_000 }).toBe(200);

const untilLogged = (server: TestServer, text: string) =>
  expect.poll(() => server.log.join(''), { timeout: 10_000 }).toContain(text);

test('refuses the old admin token and its cookies as soon as the server accepts the new token', async () => {
  const server = await openServer();
  const cookie = await signIn(server, server.adminToken);
  replaceToken(server, `${newToken}\n`);
  await untilAccepted(server, newToken);
  expect(await statusFor(server, server.adminToken)).toBe(401);
  expect((await fetch(`${server.url}/api/queue`, { headers: { cookie } })).status).toBe(401);
  const client = adminClient(server.url, newToken);
  const query = { event_type: 'session.expired' };
  await expect
    .poll(() => client.call(auditApi.list, { query }), { timeout: 10_000 })
    .toMatchObject({ value: { entries: [{ details: { reason: 'token_changed' } }] } });
  const newCookie = await signIn(server, newToken);
  expect((await fetch(`${server.url}/api/queue`, { headers: { cookie: newCookie } })).status).toBe(200);
  expect(server.log.join('')).not.toContain(newToken);
});

test('immediately ends streams of the old admin token and its cookies, and keeps streams of API tokens', async () => {
  // Pings check the token, too. With this timeout, the first ping follows after 20 s, so no ping ends these streams.
  const server = await openServer({ heartbeatTimeoutMs: 120_000 });
  const body = { name: 'reader', permissions: ['queue.view' as const] };
  const readerToken = await server.admin.call(tokensApi.create, { body });
  if (!readerToken.ok) throw new Error('the API token was not created');
  const readerStream = await watchEvents(server.url, readerToken.value.token);
  onTestFinished(() => readerStream.close());
  const cookie = await signIn(server, server.adminToken);
  const streams = await Promise.all(
    [{ cookie }, { authorization: `Bearer ${server.adminToken}` }].map(headers =>
      fetch(`${server.url}/api/events`, { headers, signal: AbortSignal.timeout(10_000) }),
    ),
  );
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  replaceToken(server, newToken);
  // Rejects after 10 s if a stream is still open.
  await Promise.all(streams.map(stream => stream.text()));
  expect(await statusFor(server, newToken)).toBe(200);
  const client = adminClient(server.url, newToken);
  await client.call(tokensApi.create, { body: { ...body, name: 'other' } });
  const pauseResponse = await post(server, '/api/queue/pause', {}, newToken);
  expect(pauseResponse.status).toBe(200);
  await readerStream.until('the pause', event => (event.kind === 'queue' ? event : null));
});

test('refuses sign-in links that were created with the old token', async () => {
  const server = await openServer();
  const { code } = (await (await post(server, '/api/session/link', {}, server.adminToken)).json()) as {
    code: string;
  };
  replaceToken(server, newToken);
  await untilAccepted(server, newToken);
  const answer = await post(server, '/api/session', { code });
  expect([answer.status, await answer.json()]).toMatchObject([401, { code: 'code_invalid' }]);
});

test.each([
  ['is empty', (server: TestServer) => replaceToken(server, '\n'), 'is empty'],
  ['is removed', (server: TestServer) => rmSync(tokenFile(server)), 'ENOENT'],
  ['is not a token', (server: TestServer) => replaceToken(server, 'two words'), 'is not a token'],
  ['is too long', (server: TestServer) => replaceToken(server, 'x'.repeat(5_000)), 'is not a token'],
])('keeps the current admin token and warns once when the token file %s', async (_what, damage, warning) => {
  const server = await openServer();
  damage(server);
  await untilLogged(server, warning);
  expect(await statusFor(server, server.adminToken)).toBe(200);
  replaceToken(server, newToken);
  await untilAccepted(server, newToken);
  expect(server.log.filter(line => line.includes('admin_token.not_read'))).toHaveLength(1);
});

test.skipIf(process.platform === 'win32')(
  'keeps the old token when other users can read the new token file',
  async () => {
    const server = await openServer();
    replaceToken(server, newToken, 0o644);
    await untilLogged(server, 'can be read by others');
    expect(await statusFor(server, newToken)).toBe(401);
    expect(await statusFor(server, server.adminToken)).toBe(200);
  },
);
