import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly cookie: string | null;
}

async function request(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(5_000),
  });
  return {
    status: response.status,
    body: (await response.json()) as Answer['body'],
    cookie: response.headers.get('set-cookie'),
  };
}

// Headers that a page of the panel sends.
const fromPanel = (): Readonly<Record<string, string>> => ({
  origin: server.url,
  'sec-fetch-site': 'same-origin',
});

const cookieOf = ({ cookie }: Answer): string => (cookie ?? '').split(';', 1)[0] ?? '';

const signIn = (body: unknown): Promise<Answer> => request('POST', '/api/session', fromPanel(), body);

const makeCode = async (): Promise<string> => {
  const { body } = await request(
    'POST',
    '/api/session/link',
    { authorization: `Bearer ${server.adminToken}` },
    {},
  );
  return String(body['code']);
};

type Headers = Readonly<Record<string, string>>;

// Follows the event stream with this cookie, as a browser does.
async function follow(cookie: string) {
  const controller = new AbortController();
  const { body } = await fetch(`${server.url}/api/events`, {
    headers: { cookie },
    signal: controller.signal,
  });
  if (body === null) throw new Error('the stream has no body');
  const parts = body.pipeThrough(new TextDecoderStream()).getReader();
  const readUntil = async (isEnough: (text: string, done: boolean) => boolean): Promise<void> => {
    let text = '';
    for (;;) {
      const { value = '', done } = await parts.read();
      text += value;
      if (isEnough(text, done)) return;
      if (done) throw new Error('the stream has ended');
    }
  };
  return {
    waitForEnd: () => readUntil((_, done) => done),
    waitForWord: (word: string) => readUntil(text => text.includes(word)),
    leave: () => controller.abort(),
  };
}

describe('signing in', () => {
  test('signs in with a cookie that scripts and other sites cannot use', async () => {
    const answer = await signIn({ token: server.adminToken });
    expect(answer).toMatchObject({ status: 200, body: { user: 'admin' } });
    expect(answer.cookie).toMatch(/^trainyard_session=ts_[\w-]{43}; /);
    for (const part of ['HttpOnly', 'SameSite=Strict', 'Path=/', 'Expires='])
      expect(answer.cookie).toContain(part);
    expect(JSON.stringify(answer.body)).not.toContain('ts_');
  });

  test('accepts a sign-in link once', async () => {
    const code = await makeCode();
    expect(await signIn({ code })).toMatchObject({ status: 200, body: { user: 'admin' } });
    expect(await signIn({ code })).toMatchObject({
      status: 401,
      body: { code: 'code_invalid' },
      cookie: null,
    });
  });

  test.each([
    [{ token: 'nonsense' }, 401, 'token_invalid'],
    [{ token: '' }, 400, 'invalid_request'],
    [{ code: 'nonsense' }, 401, 'code_invalid'],
    [{ token: 'a', code: 'b' }, 400, 'invalid_request'],
    [{}, 400, 'invalid_request'],
    [['token'], 400, 'invalid_request'],
  ])('refuses to sign in with %j', async (body, status, code) => {
    expect(await signIn(body)).toMatchObject({ status, body: { code }, cookie: null });
  });

  test('returns the user of a bearer token without a session', async () => {
    const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
    const session = await request('GET', '/api/session', bearer(server.adminToken));
    expect(session).toMatchObject({ status: 200, body: { user: 'admin', expires_at: null }, cookie: null });
    expect(session.body['permissions']).toContain('admin.tokens');
    // A token takes precedence over a cookie in each call, and an invalid token is refused despite a valid cookie.
    const cookie = cookieOf(await signIn({ token: server.adminToken }));
    expect(await request('GET', '/api/session', { cookie, ...bearer('nonsense') })).toMatchObject({
      status: 401,
      body: { code: 'token_invalid' },
    });
  });

  test('refuses to sign in with a worker token', async () => {
    const { token } = await server.createWorker({ name: 'rig-9' });
    expect(await signIn({ token })).toMatchObject({ status: 401, cookie: null });
  });

  test('refuses to sign in from a page of another site', async () => {
    const crossSiteHeaders: readonly Headers[] = [
      { origin: 'https://evil.example' },
      { origin: server.url, 'sec-fetch-site': 'cross-site' },
      { origin: server.url, 'sec-fetch-site': 'same-site' },
      { origin: 'null' },
    ];
    for (const headers of crossSiteHeaders) {
      const answer = await request('POST', '/api/session', headers, { token: server.adminToken });
      expect(answer).toMatchObject({ status: 403, body: { code: 'cross_site' }, cookie: null });
    }
  });
});

describe('sessions', () => {
  test('allows the calls that the user of the session may make, and returns the user', async () => {
    const cookie = cookieOf(await signIn({ token: server.adminToken }));
    expect(await request('GET', '/api/queue', { cookie })).toMatchObject({ status: 200 });
    expect(await request('GET', '/api/session', { cookie })).toMatchObject({ body: { user: 'admin' } });
    expect(await request('POST', '/api/queue/pause', { cookie, ...fromPanel() }, {})).toMatchObject({
      status: 200,
    });
    expect(await request('POST', '/api/queue/resume', { cookie, ...fromPanel() }, {})).toMatchObject({
      status: 200,
    });
  });

  test('refuses changes by a session from a page of another site or without an origin', async () => {
    const cookie = cookieOf(await signIn({ token: server.adminToken }));
    const crossSiteHeaders: readonly Headers[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      {},
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of crossSiteHeaders)
      expect(await request('POST', '/api/queue/pause', { cookie, ...headers }, {})).toMatchObject({
        status: 403,
        body: { code: 'cross_site' },
      });
    expect(await request('GET', '/api/queue', { cookie, 'sec-fetch-site': 'cross-site' })).toMatchObject({
      status: 403,
    });
  });

  test('invalidates the session cookie when the user signs out', async () => {
    const cookie = cookieOf(await signIn({ token: server.adminToken }));
    const signOutResponse = await request('DELETE', '/api/session', { cookie, ...fromPanel() });
    expect(signOutResponse).toMatchObject({ status: 200, body: { user: null } });
    expect(signOutResponse.cookie).toContain('trainyard_session=;');
    expect(await request('GET', '/api/queue', { cookie })).toMatchObject({ status: 401 });
    expect(await request('GET', '/api/session', { cookie })).toMatchObject({ body: { user: null } });
  });

  test('ends only the streams of a session when its user signs out', async () => {
    const [firstSignIn, secondSignIn] = [
      await signIn({ token: server.adminToken }),
      await signIn({ token: server.adminToken }),
    ];
    const [closingStream, openStream] = [
      await follow(cookieOf(firstSignIn)),
      await follow(cookieOf(secondSignIn)),
    ];
    await request('DELETE', '/api/session', { cookie: cookieOf(firstSignIn), ...fromPanel() });
    await closingStream.waitForEnd();
    await server.createWorker({ name: 'rig-after' });
    await openStream.waitForWord('rig-after');
    openStream.leave();
  });

  test('refuses a session for worker calls, and refuses an invalid cookie', async () => {
    const cookie = cookieOf(await signIn({ token: server.adminToken }));
    expect(await request('POST', '/api/workers/heartbeat', { cookie, ...fromPanel() }, {})).toMatchObject({
      status: 401,
    });
    for (const cookieHeader of [
      'trainyard_session=ts_wrong',
      'trainyard_session=',
      'other=1; trainyard_session=\u0001'.slice(0, 27),
    ])
      expect(await request('GET', '/api/queue', { cookie: cookieHeader })).toMatchObject({ status: 401 });
  });

  test('audits when a session starts and ends', async () => {
    const cookie = cookieOf(await signIn({ token: server.adminToken }));
    await request('DELETE', '/api/session', { cookie, ...fromPanel() });
    const { body } = await request('GET', '/api/audit?limit=2', {
      authorization: `Bearer ${server.adminToken}`,
    });
    expect(body['entries']).toMatchObject([
      { event_type: 'auth.signed_out', actor_id: 'admin', target_type: 'user', address: expect.any(String) },
      { event_type: 'auth.signed_in', actor_id: 'admin', target_type: 'user' },
    ]);
    expect(JSON.stringify(body)).not.toContain('ts_');
  });
});
