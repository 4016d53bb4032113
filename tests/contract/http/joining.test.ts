import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../main/host/system.ts';
import { auditApi, workersApi } from '../../../protocol/admin-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';

const clock = { aheadMs: 0 };
let server: TestServer;
beforeEach(async () => {
  clock.aheadMs = 0;
  server = await startTestServer({
    clock: { ...systemClock, wall: () => Date.now() + clock.aheadMs },
  });
});
afterEach(() => server.close());

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const createJoinToken = async (
  id: Awaited<ReturnType<TestServer['createWorker']>>['id'],
  body: object = {},
) => valueOf(await server.admin.call(workersApi.createJoinToken, { params: { id }, body }));

async function post(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<readonly [number, Readonly<Record<string, unknown>>]> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return [response.status, (await response.json()) as Readonly<Record<string, unknown>>];
}

const join = (joinToken: string, token: string) =>
  post('/api/join', { 'x-worker-token': joinToken }, { token_sha256: sha256(token) });
const register = (token: string) =>
  post('/api/workers/register', { 'x-worker-token': token }, { name: 'rig' });

test('joins a machine as a worker with a join token', async () => {
  const { id, token } = await server.createWorker({ name: 'rig-1', worker_type: 'ephemeral' });
  const issuedToken = await createJoinToken(id);
  expect(issuedToken).toEqual({
    worker_id: id,
    name: 'rig-1',
    join_token: expect.stringMatching(/^tj_[\w-]{43}$/),
    expires_at: expect.any(String),
    connection_command: `SIMPLETUNER_WORKER_TOKEN=${issuedToken.join_token} trainyard worker --orchestrator-url ${server.url} --name rig-1`,
    install_command: null,
    short_command: null,
  });
  expect(Math.abs(Date.parse(issuedToken.expires_at) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  expect(await join(issuedToken.join_token, 'wt_mine')).toEqual([
    200,
    { worker_id: id, name: 'rig-1', worker_type: 'ephemeral' },
  ]);
  expect((await register('wt_mine'))[1]).toMatchObject({ worker_id: id });
  expect((await register(token))[0]).toBe(401);
});

describe('single use of a join token', () => {
  test('returns the same answer for a repeated join, and refuses a join with another worker token', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const { join_token: joinToken } = await createJoinToken(id);
    const first = await join(joinToken, 'wt_mine');
    expect(await join(joinToken, 'wt_mine')).toEqual(first);
    expect(await join(joinToken, 'wt_theirs')).toMatchObject([401, { code: 'join_token_used' }]);
    expect((await register('wt_mine'))[0]).toBe(200);
    expect((await register('wt_theirs'))[0]).toBe(401);
  });

  test('accepts exactly one of many concurrent joins', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const { join_token: joinToken } = await createJoinToken(id);
    const tokens = Array.from({ length: 20 }, (_, n) => `wt_${n}`);
    const answers = await Promise.all(tokens.map(token => join(joinToken, token)));
    expect(answers.filter(([status]) => status === 200)).toHaveLength(1);
    expect(answers.filter(([, { code }]) => code === 'join_token_used')).toHaveLength(19);
    const winner = tokens[answers.findIndex(([status]) => status === 200)] ?? '';
    expect((await register(winner))[0]).toBe(200);
  });

  test('refuses an expired join token and accepts a new join token', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const { join_token: joinToken } = await createJoinToken(id, { expires_in_s: 60 });
    clock.aheadMs = 60_000;
    const [status, problem] = await join(joinToken, 'wt_mine');
    expect([status, problem['code']]).toEqual([401, 'join_token_invalid']);
    expect(problem['detail']).toMatch(/has expired; make a new join command/);
    const newToken = await createJoinToken(id);
    expect((await join(newToken.join_token, 'wt_mine'))[0]).toBe(200);
  });

  test('refuses a join token after a newer join token, a token rotation, or the removal of its worker', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const params = { id };
    const expectRefused = async (joinToken: string) =>
      expect(await join(joinToken, 'wt_mine')).toMatchObject([401, { code: 'join_token_invalid' }]);
    const first = await createJoinToken(id);
    const second = await createJoinToken(id);
    await expectRefused(first.join_token);
    valueOf(await server.admin.call(workersApi.rotateToken, { params, body: {} }));
    await expectRefused(second.join_token);
    const third = await createJoinToken(id);
    valueOf(await server.admin.call(workersApi.remove, { params }));
    await expectRefused(third.join_token);
  });
});

describe('creating a join token', () => {
  test.each([
    { expires_in_s: 59 },
    { expires_in_s: 604_801 },
    { expires_in_s: 60.5 },
    { expires_in_s: '60' },
    { more: 1 },
  ])('refuses to create a join token with the body %j', async body => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const [status, { code }] = await post(
      `/api/admin/workers/${id}/join-token`,
      { authorization: `Bearer ${server.adminToken}` },
      body,
    );
    expect([status, code]).toEqual([400, 'invalid_request']);
  });

  test('refuses to create a join token for a user who may not change workers', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const body = { name: 'viewer', permissions: ['queue.view' as const] };
    const { token } = valueOf(await server.admin.call(tokensApi.create, { body }));
    const response = await adminClient(server.url, token).call(workersApi.createJoinToken, {
      params: { id },
    });
    expect(response).toMatchObject({ failure: { status: 403, problem: { code: 'permission_missing' } } });
  });
});

describe('invalid joins', () => {
  test.each([
    [{}],
    [{ token_sha256: '' }],
    [{ token_sha256: 'a'.repeat(63) }],
    [{ token_sha256: 'A'.repeat(64) }],
    [{ token_sha256: 7 }],
    [{ token_sha256: 'a'.repeat(64), token: 'wt_mine' }],
    [[]],
  ])('refuses to join with the body %j, and keeps the join token unused', async body => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const { join_token: joinToken } = await createJoinToken(id);
    expect(await post('/api/join', { 'x-worker-token': joinToken }, body)).toMatchObject([
      400,
      { code: 'invalid_request' },
    ]);
    expect((await join(joinToken, 'wt_mine'))[0]).toBe(200);
  });

  test('explains the error when an agent registers with a join token', async () => {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const { join_token: joinToken } = await createJoinToken(id);
    const [status, { detail }] = await register(joinToken);
    expect([status, detail]).toEqual([401, expect.stringContaining('a join token is not a worker token')]);
  });
});

test('audits invalid, expired and used join tokens with the start of their hash', async () => {
  const { id } = await server.createWorker({ name: 'rig-1' });
  const expired = (await createJoinToken(id, { expires_in_s: 60 })).join_token;
  clock.aheadMs = 60_000;
  await join(expired, 'wt_mine');
  const used = (await createJoinToken(id)).join_token;
  await join(used, 'wt_mine');
  await join(used, 'wt_theirs');
  await join('tj_wrong', 'wt_mine');
  const { entries } = valueOf(
    await server.admin.call(auditApi.list, { query: { event_type: 'auth.refused' } }),
  );
  const auditedAs = (token: string, why: string) => ({
    target_id: 'POST /api/join',
    details: { why, sha256: sha256(token).slice(0, 8) },
  });
  expect(entries).toMatchObject([
    auditedAs('tj_wrong', 'join_token_invalid'),
    auditedAs(used, 'join_token_used'),
    auditedAs(expired, 'join_token_invalid'),
  ]);
  const { entries: allEntries } = valueOf(await server.admin.call(auditApi.list, { query: { limit: 500 } }));
  const text = JSON.stringify([allEntries, server.log]);
  for (const secret of [expired, used, 'wt_mine', 'wt_theirs', sha256(used), sha256('wt_mine')])
    expect(text).not.toContain(secret);
});

test('limits failed joins of an address, but accepts a valid join token from this address', async () => {
  const { id } = await server.createWorker({ name: 'rig-1' });
  const { join_token: joinToken } = await createJoinToken(id);
  const answers = await Promise.all(Array.from({ length: 80 }, (_, n) => join(`tj_${n}`, 'wt_mine')));
  expect(answers.filter(([status]) => status === 401).length).toBeGreaterThanOrEqual(60);
  expect(answers.some(([status, { code }]) => status === 429 && code === 'too_many_failures')).toBe(true);
  expect((await join(joinToken, 'wt_mine'))[0]).toBe(200);
});

test.each([
  ['/api/join', 'join'],
  ['/api/workers/register', 'worker'],
])("names the token that %s requires when a request has no token or a user's token", async (path, kind) => {
  const asBearer = { authorization: `Bearer ${server.adminToken}` };
  for (const [headers, status] of [[{}, 401] as const, [asBearer, 403] as const]) {
    const [actualStatus, { detail }] = await post(path, headers, {});
    expect([actualStatus, detail]).toEqual([
      status,
      expect.stringContaining(` ${kind} token in the header X-Worker-Token`),
    ]);
  }
});

test('stores join tokens only as hashes', async () => {
  const { id } = await server.createWorker({ name: 'rig-1' });
  const { join_token: joinToken } = await createJoinToken(id);
  await join(joinToken, 'wt_mine');
  const { readFile } = await import('node:fs/promises');
  const databaseTexts = await Promise.all(
    ['trainyard.db', 'trainyard.db-wal'].map(file => readFile(`${server.dataDir}/${file}`, 'latin1')),
  );
  for (const text of databaseTexts) expect(text).not.toMatch(/tj_[\w-]{20}/);
  expect(databaseTexts.join('')).toContain(sha256(joinToken));
});

test('disconnects the machine of a worker when another machine joins as that worker', async () => {
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const registerInstance = (header: string, instance: string) =>
    post(
      '/api/workers/register',
      { 'x-worker-token': header },
      { name: instance, protocol: 2, instance_id: instance },
    );
  expect((await registerInstance(token, 'old'))[0]).toBe(200);
  const stream = await fetch(`${server.url}/api/workers/stream?worker_id=${id}`, {
    headers: { 'x-worker-token': token },
  });
  onTestFinished(() => void stream.body?.cancel().catch(() => {}));
  const ended = stream.text();
  const { join_token: joinToken } = await createJoinToken(id);
  expect((await join(joinToken, 'wt_mine'))[0]).toBe(200);
  await ended;
  expect((await registerInstance('wt_mine', 'new'))[0]).toBe(200);
});
