// See docs/internals/faults.md, S2.
import { expect, onTestFinished, test } from 'vitest';
import { sendRaw } from '../../support/raw-request.ts';
import { startTestServer } from '../../support/server.ts';

async function start() {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const bearer = ['authorization', `Bearer ${server.adminToken}`] as const;
  return { server, bearer };
}

test.each<readonly [what: string, method: string, path: string, status: number]>([
  ['a JSON response', 'GET', '/api/version', 200],
  ['a response to HEAD', 'HEAD', '/api/version', 200],
  ['a long response', 'GET', '/openapi.json', 200],
  // The status depends on whether the worker was built, so the test does not check it.
  ['a response with an ETag', 'GET', '/agent/install.sh', 0],
  ['a text response', 'GET', '/metrics', 200],
  ['a page', 'GET', '/docs', 200],
  ['an event stream', 'GET', '/api/events', 200],
  ['a response to an unknown path', 'GET', '/nowhere', 404],
  ['a response to an invalid path', 'GET', '/api/queue/%zz/artifacts', 400],
  ['a response to an unknown method', 'DELETE', '/api/version', 405],
  ['a response to an invalid body', 'POST', '/api/queue/submit', 400],
])('sends all security headers with %s', async (_what, method, path, status) => {
  const { server, bearer } = await start();
  const answer = await sendRaw(server.url, {
    method,
    path,
    headers: [bearer, ['x-request-id', 'mine'], ['content-type', 'application/json']],
    ...(method === 'POST' && { body: '{' }),
  });
  if (status > 0) expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'x-request-id': 'mine',
  });
  expect(answer.headers['x-powered-by']).toBeUndefined();
});

test('sends the exact content type and byte length of a JSON response with non-ASCII text', async () => {
  const { server, bearer } = await start();
  await server.createWorker({ name: 'Größe 1 – 日本' });
  const answer = await sendRaw(server.url, { path: '/api/admin/workers', headers: [bearer] });
  expect(answer.text).toContain('Größe 1 – 日本');
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(answer.text)),
  });
});

test('answers 304 to If-None-Match: *', async () => {
  const { server } = await start();
  const answer = await sendRaw(server.url, { path: '/api/version', headers: [['if-none-match', '*']] });
  expect([answer.status, answer.text]).toEqual([304, '']);
});

test('refuses requests with repeated Sec-Fetch-Site or Authorization headers', async () => {
  const { server, bearer } = await start();
  const sameOriginHeader = ['sec-fetch-site', 'same-origin'] as const;
  const request = { method: 'POST', path: '/api/sessions', body: '{}' };
  const jsonHeader = ['content-type', 'application/json'] as const;
  expect(
    (await sendRaw(server.url, { ...request, headers: [jsonHeader, sameOriginHeader, sameOriginHeader] }))
      .code,
  ).toBe('cross_site');
  expect((await sendRaw(server.url, { ...request, headers: [jsonHeader, sameOriginHeader] })).code).not.toBe(
    'cross_site',
  );
  const twoAuthorizations = [bearer, ['authorization', 'Bearer other'] as const];
  expect((await sendRaw(server.url, { path: '/api/queue', headers: twoAuthorizations })).status).toBe(401);
});
