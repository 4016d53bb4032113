import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { auditApi, workersApi } from '../../../protocol/admin-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { createLightWorker } from '../../support/light-worker.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
let firstWorker: Awaited<ReturnType<TestServer['createWorker']>>;
beforeAll(async () => {
  server = await startTestServer();
  firstWorker = await server.createWorker({ name: 'rig-1' });
  await server.createWorker({ name: 'rig-2' });
  const { token } = valueOf(
    await server.admin.call(tokensApi.create, { body: { name: 'ada', permissions: ['admin.workers'] } }),
  );
  valueOf(
    await adminClient(server.url, token).call(workersApi.drain, { params: { id: firstWorker.id }, body: {} }),
  );
});
afterAll(() => server.close());

type Query = NonNullable<Parameters<typeof server.admin.call<typeof auditApi.list>>[1]>['query'];
const list = async (query: Query) => valueOf(await server.admin.call(auditApi.list, { query }));
const types = async (query: Query) => (await list(query)).entries.map(({ event_type: type }) => type);

describe('listing the audit trail', () => {
  test('filters audit rows by type, type prefix, actor, target and time', async () => {
    expect(await types({})).toEqual(['worker.draining', 'token.created', 'worker.created', 'worker.created']);
    expect(await types({ event_type: 'worker.created' })).toHaveLength(2);
    expect(await types({ event_type: 'worker.*' })).toHaveLength(3);
    expect(await types({ event_type: 'work.*' })).toEqual([]);
    expect(await types({ event_type: 'worker.%' })).toEqual([]);
    expect(await types({ actor_id: 'ada' })).toEqual(['worker.draining']);
    expect(await types({ target_type: 'token' })).toEqual(['token.created']);
    expect(await types({ target_id: firstWorker.id })).toEqual(['worker.draining', 'worker.created']);
    const [newest] = (await list({})).entries;
    const at = newest?.at ?? '';
    expect(await types({ since: at, event_type: 'worker.draining' })).toHaveLength(1);
    expect(await types({ until: at, event_type: 'worker.draining' })).toEqual([]);
    // The same instant, written in another time zone.
    const sameInstant = new Date(Date.parse(at) + 3_600_000).toISOString().replace('Z', '+01:00');
    expect(await types({ since: sameInstant, event_type: 'worker.draining' })).toHaveLength(1);
  });

  test("accepts dates, times without a zone, and SimpleTuner's event types as audit filters", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    expect(await types({ since: today, event_type: 'worker.created' })).toHaveLength(2);
    expect(await types({ since: tomorrow })).toEqual([]);
    expect(await types({ until: today })).toEqual([]);
    expect(await types({ since: `${today}T00:00:00` })).toHaveLength(4);
    expect(await types({ event_type: 'api_key.created' })).toEqual(['token.created']);
    expect(await types({ event_type: 'api_key.*' })).toEqual(['token.created']);
    expect(await types({ event_type: 'job.rejected' })).toEqual([]);
    expect(await types({ event_type: 'credential.used' })).toEqual([]);
  });

  test.each<readonly [documented: string, types: readonly string[]]>([
    ['user.created', ['token.created']],
    ['user.*', ['token.created']],
    ['user.deleted', []],
    ['user.updated', []],
    ['credential.created', ['worker.created', 'worker.created']],
    ['credential.*', ['worker.created', 'worker.created']],
    ['credential.deleted', []],
  ])('finds the audit rows of the SimpleTuner event type %s', async (documented, expectedTypes) => {
    expect(await types({ event_type: documented })).toEqual(expectedTypes);
  });

  test('finds a token rotation under credential.created and .deleted, and a registration under credential.used', async () => {
    const ownServer = await startTestServer();
    onTestFinished(() => ownServer.close());
    const { id } = await ownServer.createWorker({ name: 'rig' });
    const { token } = valueOf(
      await ownServer.admin.call(workersApi.rotateToken, { params: { id }, body: {} }),
    );
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    await createLightWorker({ url: ownServer.url, id, token, agent }).register();
    const typesOnServer = async (event_type: string) =>
      valueOf(await ownServer.admin.call(auditApi.list, { query: { event_type } })).entries.map(
        ({ event_type: type }) => type,
      );
    expect(await typesOnServer('credential.created')).toEqual(['worker.token_rotated', 'worker.created']);
    expect(await typesOnServer('credential.deleted')).toEqual(['worker.token_rotated']);
    expect(await typesOnServer('credential.used')).toEqual(['worker.registered']);
    expect(await typesOnServer('credential.*')).toEqual([
      'worker.registered',
      'worker.token_rotated',
      'worker.created',
    ]);
    // The registration and creation of workers are not security events.
    const security = valueOf(
      await ownServer.admin.call(auditApi.security, { query: { event_type: 'credential.*' } }),
    ).entries;
    expect(security.map(({ event_type: type }) => type)).toEqual(['worker.token_rotated']);
    const { total } = valueOf(
      await ownServer.admin.call(auditApi.stats, { query: { event_type: 'credential.deleted' } }),
    );
    expect(total).toBe(1);
  });

  test('lists the audit rows of one user, and the security events', async () => {
    const typesOfUser = async (id: string) =>
      valueOf(await server.admin.call(auditApi.user, { params: { id } })).entries.map(
        ({ event_type: type }) => type,
      );
    expect(await typesOfUser('ada')).toEqual(['worker.draining']);
    expect(await server.admin.call(auditApi.user, { params: { id: 'nobody' } })).toMatchObject({
      failure: { status: 404, problem: { code: 'actor_not_found' } },
    });
    const { entries } = valueOf(await server.admin.call(auditApi.security, {}));
    expect(entries.map(({ event_type: type }) => type)).toEqual(['token.created']);
  });

  test.each<readonly [string, string]>([
    ['since=yesterday', 'since'],
    ['limit=501', 'limit'],
    ['offset=-1', 'offset'],
    [`event_type=${'x'.repeat(101)}`, 'event_type'],
  ])('refuses the audit query %s', async (query, field) => {
    const response = await fetch(`${server.url}/api/audit?${query}`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ field }] });
  });
});

test('counts audit rows by type and by actor', async () => {
  const stats = valueOf(await server.admin.call(auditApi.stats, { query: { event_type: 'worker.*' } }));
  expect(stats).toMatchObject({
    total: 3,
    by_type: [
      { name: 'worker.created', count: 2 },
      { name: 'worker.draining', count: 1 },
    ],
    by_actor: [
      { name: 'admin', count: 2 },
      { name: 'ada', count: 1 },
    ],
  });
  expect(Date.parse(stats.first_at ?? '')).toBeLessThanOrEqual(Date.parse(stats.last_at ?? ''));
  const emptyStats = valueOf(await server.admin.call(auditApi.stats, { query: { actor_id: 'nobody' } }));
  expect(emptyStats).toEqual({ total: 0, first_at: null, last_at: null, by_type: [], by_actor: [] });
});

test('lists every event type and alias that an audit filter accepts', async () => {
  const { types: allTypes, aliases } = valueOf(await server.admin.call(auditApi.types));
  expect(allTypes).toEqual(expect.arrayContaining([aliases['auth.login.success'], aliases['job.rejected']]));
  expect(allTypes).toContain('worker.created');
  expect(allTypes).toContain('auth.refused');
  expect(allTypes).not.toContain('job.progress');
  for (const type of await types({})) expect(allTypes).toContain(type);
});

test('exports the filtered audit rows as JSON lines, oldest first', async () => {
  const response = await fetch(`${server.url}/api/audit/export?event_type=worker.*`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
  });
  expect(response.headers.get('content-type')).toContain('application/x-ndjson');
  expect(response.headers.get('content-disposition')).toContain('.jsonl');
  const lines = (await response.text()).trimEnd().split('\n');
  const { entries } = await list({ event_type: 'worker.*' });
  expect(lines.map(line => JSON.parse(line) as unknown)).toEqual(entries.toReversed());
});

test('verifies all audit rows or a range, and refuses contradictory and invalid ranges', async () => {
  const verify = async (query: {
    readonly from?: number;
    readonly to?: number;
    readonly start_id?: number;
    readonly end_id?: number;
  }) => valueOf(await server.admin.call(auditApi.verify, { query }));
  expect(await verify({})).toMatchObject({ valid: true, checked: 4, first_bad: null, anchor: null });
  expect(await verify({ from: 2, to: 3 })).toMatchObject({ valid: true, checked: 2 });
  expect(await verify({ start_id: 2, end_id: 3 })).toMatchObject({ valid: true, checked: 2 });
  expect(await server.admin.call(auditApi.verify, { query: { from: 2, start_id: 3 } })).toMatchObject({
    failure: { status: 400 },
  });
  expect(await server.admin.call(auditApi.verify, { query: { from: 0 } })).toMatchObject({
    ok: false,
    failure: { status: 400 },
  });
});
