import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditApi, eventsApi, workersApi } from '../../../protocol/admin-api.ts';
import { type Call, type Permission, permissions, reachOf } from '../../../protocol/call.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { urlOf } from '../../../protocol/client.ts';
import { adminClient, startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

let tokenCount = 0;
async function create(permissionList: readonly Permission[], more: object = {}, client = server.admin) {
  tokenCount += 1;
  const body = { name: `script-${tokenCount}`, permissions: [...permissionList], ...more };
  return valueOf(await client.call(tokensApi.create, { body }));
}
const clientOf = ({ token }: { readonly token: string }) => adminClient(server.url, token);

const protectedCalls: readonly Call[] = [workersApi, queueApi, auditApi, tokensApi, eventsApi, sessionApi]
  .flatMap(api => Object.values<Call>(api))
  .filter(({ authority }) => authority !== 'open');
const titleOf = ({ method, path }: Call): string => `${method} ${path}`;

async function statusOf(row: Call, token: string): Promise<readonly [number, unknown]> {
  const controller = new AbortController();
  const response = await fetch(urlOf(server.url, row.path, { id: 'nobody' }), {
    method: row.method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    // An invalid body changes nothing, and the status still shows whether the token may make the call.
    ...(row.method === 'GET' ? {} : { body: '[]' }),
    signal: controller.signal,
  });
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true;
  const code = isProblem ? ((await response.json()) as { readonly code: unknown }).code : null;
  controller.abort();
  return [response.status, code];
}

describe('API tokens', () => {
  test.each(permissions.map(permission => [permission]))(
    'allows a token with %s exactly the calls of that permission',
    async permission => {
      const { token } = await create([permission]);
      for (const row of protectedCalls) {
        const [status, code] = await statusOf(row, token);
        const isRefused = status === 403 && code === 'permission_missing';
        expect([titleOf(row), isRefused]).toEqual([titleOf(row), reachOf([permission], row) === 'none']);
      }
    },
  );

  test('shows an API token once, lists it without its secret, and stores it only as a hash', async () => {
    const { token, id } = await create(['queue.view']);
    expect(token).toMatch(/^tk_[\w-]{43}$/);
    const tokenList = valueOf(await server.admin.call(tokensApi.list));
    expect(tokenList.tokens.find(each => each.id === id)).toMatchObject({
      permissions: ['queue.view'],
      created_by: 'admin',
      expires_at: null,
      last_used_at: null,
    });
    const { readFile } = await import('node:fs/promises');
    const databaseTexts = await Promise.all(
      ['trainyard.db', 'trainyard.db-wal'].map(file => readFile(`${server.dataDir}/${file}`, 'latin1')),
    );
    for (const text of [JSON.stringify(tokenList), ...databaseTexts, server.log.join('\n')])
      expect(text).not.toContain(token);
  });

  test('uses the name of the API token as the user of its jobs', async () => {
    const client = clientOf(await create(['queue.submit', 'queue.view'], { name: 'Ada at night' }));
    const { job_id: id } = valueOf(await client.call(queueApi.submit, { body: { config: {} } }));
    if (id === null) throw new Error('the job was rejected');
    expect(valueOf(await client.call(queueApi.get, { params: { id } }))).toMatchObject({
      user: 'Ada at night',
    });
    expect(valueOf(await client.call(queueApi.me))).toMatchObject({ user: 'Ada at night', pending: 1 });
  });

  test("returns the user's jobs under the field names that SimpleTuner documents", async () => {
    const client = clientOf(await create(['queue.submit', 'queue.view'], { name: 'Counting' }));
    const submit = async (body: object) =>
      valueOf(await client.call(queueApi.submit, { body: { config: {}, ...body } })).job_id;
    const [first, second] = [await submit({}), await submit({})];
    await submit({ requires_approval: true });
    const me = valueOf(await client.call(queueApi.me));
    expect(me).toMatchObject({ pending_count: 2, running_count: 0, blocked_count: 1, running_jobs: [] });
    expect(new Set(me.pending_jobs.map(({ id }) => id))).toEqual(new Set([first, second]));
    const positions = me.pending_jobs.map(({ position }) => position);
    expect(me.best_position).toBe(Math.min(...positions.map(Number)));
  });

  test.each([
    ['lookalike', 'Iookalike'],
    ['paco', '\u0440\u0430\u0441\u043e'],
    ['wide', '\uff57\uff49\uff44\uff45'],
    ['node-10', 'node-lO'],
    ['a b', 'a  b'],
    ['ada-admin', 'Ada-Admin'],
  ])('refuses an API token name that looks like the existing %j: %j', async (name, lookalike) => {
    await create(['queue.view'], { name });
    const body = { name: lookalike, permissions: ['queue.view' as const] };
    expect(await server.admin.call(tokensApi.create, { body })).toMatchObject({
      ok: false,
      failure: { status: 409, problem: { code: 'name_taken', detail: expect.stringContaining('in use') } },
    });
  });

  test.each(['p\u0430ypal', 'ad\u200bmin', 'x\ufe0f', 'x\u034f', '\u0430dmin'])(
    'refuses an API token name with mixed alphabets or invisible characters: %j',
    async name => {
      const body = { name, permissions: ['queue.view' as const] };
      expect(await server.admin.call(tokensApi.create, { body })).toMatchObject({
        failure: { status: 400 },
      });
    },
  );

  test.each(['\u0410\u043d\u043d\u0430-laptop', '\u7530\u4e2dGPU', '\u092e\u0940\u0930\u093e'])(
    'accepts an API token name in a single alphabet: %j',
    async name => {
      expect(await create(['queue.view'], { name })).toMatchObject({ name });
    },
  );

  test('records when an API token was last used', async () => {
    const token = await create(['queue.view']);
    valueOf(await clientOf(token).call(queueApi.list));
    const { tokens } = valueOf(await server.admin.call(tokensApi.list));
    const lastUsedAt = tokens.find(({ id }) => id === token.id)?.last_used_at ?? '';
    expect(Date.now() - Date.parse(lastUsedAt)).toBeLessThan(60_000);
  });

  test('refuses to grant more permissions than the caller has', async () => {
    const token = await create(['admin.tokens', 'queue.view']);
    const response = await clientOf(token).call(tokensApi.create, {
      body: { name: 'more', permissions: ['queue.view', 'admin.workers'] },
    });
    expect(response).toMatchObject({
      ok: false,
      failure: { status: 403, problem: { code: 'permission_missing' } },
    });
    expect(await create(['queue.view'], {}, clientOf(token))).toMatchObject({ permissions: ['queue.view'] });
  });
});

describe('invalid API tokens', () => {
  const validBody = { name: 'x', permissions: ['queue.view'] };
  test.each<readonly [what: string, body: unknown, status: number, detail: RegExp]>([
    ['no permission', { ...validBody, permissions: [] }, 400, /permission/],
    ['an unknown permission', { ...validBody, permissions: ['root'] }, 400, /permissions/],
    ['a repeated permission', { ...validBody, permissions: ['queue.view', 'queue.view'] }, 400, /repeated/],
    ['no name', { permissions: ['queue.view'] }, 400, /name/],
    ['an empty name', { ...validBody, name: '  ' }, 400, /name/],
    ['a name with a line break', { ...validBody, name: 'a\nb' }, 400, /name/],
    ['a name with markup', { ...validBody, name: '<b>' }, 400, /name/],
    ['a name of 61 characters', { ...validBody, name: 'x'.repeat(61) }, 400, /name/],
    ['the name of the admin', { ...validBody, name: 'Admin' }, 409, /in use/],
    ['an expiry in the past', { ...validBody, expires_in_s: -1 }, 400, /expires_in_s/],
    ['an expiry that is too soon', { ...validBody, expires_in_s: 1 }, 400, /expires_in_s/],
    ['an expiry that is too late', { ...validBody, expires_in_s: 1e12 }, 400, /expires_in_s/],
    ['an unknown field', { ...validBody, admin: true }, 400, /admin/],
  ])('refuses to create an API token with %s', async (_what, body, status, detailPattern) => {
    const response = await fetch(`${server.url}/api/tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(status);
    expect(((await response.json()) as { readonly detail: string }).detail).toMatch(detailPattern);
  });

  test('refuses the name of another API token in upper or lower case, until that token is revoked', async () => {
    const body = { name: 'Nightly', permissions: ['queue.view' as const] };
    const { id } = valueOf(await server.admin.call(tokensApi.create, { body }));
    const createAgain = () => server.admin.call(tokensApi.create, { body: { ...body, name: 'nightlY' } });
    expect(await createAgain()).toMatchObject({ ok: false, failure: { problem: { code: 'name_taken' } } });
    valueOf(await server.admin.call(tokensApi.revoke, { params: { id } }));
    expect(await createAgain()).toMatchObject({ ok: true });
  });
});

describe('revoking an API token', () => {
  test('refuses a revoked API token and removes it from the list', async () => {
    const token = await create(['queue.view']);
    valueOf(await server.admin.call(tokensApi.revoke, { params: { id: token.id } }));
    expect(await statusOf(queueApi.list, token.token)).toEqual([401, 'token_invalid']);
    const secondRevocation = await server.admin.call(tokensApi.revoke, { params: { id: token.id } });
    expect(secondRevocation).toMatchObject({
      ok: false,
      failure: { status: 404, problem: { code: 'token_not_found' } },
    });
  });

  test('ends the streams and the sessions of a revoked API token', async () => {
    const { id, token } = await create(['queue.view', 'admin.tokens']);
    const signedIn = await fetch(`${server.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url, 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ token }),
    });
    const cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
    expect(await signedIn.json()).toMatchObject({ permissions: ['admin.tokens', 'queue.view'] });
    const { code } = valueOf(await clientOf({ token }).call(sessionApi.link));
    const streams = await Promise.all(
      [{ authorization: `Bearer ${token}` }, { cookie, 'sec-fetch-site': 'same-origin' }].map(headers =>
        fetch(`${server.url}/api/events`, { headers }),
      ),
    );
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const ended = Promise.all(streams.map(stream => stream.text()));
    valueOf(await server.admin.call(tokensApi.revoke, { params: { id } }));
    await ended;
    const cookieResponse = await fetch(`${server.url}/api/queue`, {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    });
    expect(cookieResponse.status).toBe(401);
    const linkResponse = await fetch(`${server.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url, 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ code }),
    });
    expect(linkResponse.status).toBe(401);
  });
});

test('audits the creation and the revocation of an API token without its secret', async () => {
  const { id, token, name: tokenName } = await create(['queue.view']);
  valueOf(await server.admin.call(tokensApi.revoke, { params: { id } }));
  const { entries } = valueOf(await server.admin.call(auditApi.list, { query: { target_id: id } }));
  expect(entries).toMatchObject([
    { event_type: 'token.revoked', actor_id: 'admin', target_type: 'token', details: { name: tokenName } },
    {
      event_type: 'token.created',
      actor_id: 'admin',
      details: { name: tokenName, permissions: ['queue.view'] },
    },
  ]);
  expect(JSON.stringify(entries)).not.toContain(token.slice(3));
});
