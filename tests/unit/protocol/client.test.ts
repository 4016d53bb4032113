// See docs/internals/faults.md, S18: the client returns each failure as a value and never throws.
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { call } from '../../../protocol/call.ts';
import { type ClientOptions, createClient, urlOf } from '../../../protocol/client.ts';

interface ReceivedRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Starts a server that records each request before it answers. */
async function startServer(
  answer: RequestListener,
): Promise<{ server: Server; url: string; requests: ReceivedRequest[] }> {
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { method, url, headers } = request;
      requests.push({ method, url, headers, body });
      answer(request, response);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const clientOf = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, headers: () => ({}), timeoutMs: 5_000, ...options });

/** Returns a listener that answers each request with this status and body. */
const respondWith =
  (status: number, body: unknown, headers = {}): RequestListener =>
  (_request, response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };

const commonFields = { authority: 'open', summary: 'Try it', reply: z.object({ n: z.number() }) } as const;
const get = call({ ...commonFields, method: 'GET', path: '/api/things' });
const post = call({
  ...commonFields,
  method: 'POST',
  path: '/api/things',
  body: z.object({ a: z.number() }),
});
const remove = call({
  ...commonFields,
  method: 'DELETE',
  path: '/api/things/:id/parts/:part_id',
  params: z.object({ id: z.string(), part_id: z.number() }),
});

describe('a successful call', () => {
  test('returns only the declared fields of the response', async () => {
    const { url, requests } = await startServer(respondWith(200, { n: 1, more: 2 }));
    expect(await clientOf(url).call(get)).toEqual({ ok: true, value: { n: 1 } });
    expect(requests).toMatchObject([{ method: 'GET', url: '/api/things', body: '' }]);
    expect(requests[0]?.headers).toMatchObject({ accept: 'application/json' });
    expect(requests[0]?.headers).not.toHaveProperty('content-type');
  });

  test('sends the body as JSON, and {} for a call without a body', async () => {
    const { url, requests } = await startServer(respondWith(200, { n: 1 }));
    await clientOf(url).call(post, { body: { a: 1 } });
    await clientOf(url).call(remove, { params: { id: 'x', part_id: 2 } });
    expect(requests.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"a":1}'],
      ['DELETE', '{}'],
    ]);
    for (const { headers } of requests) expect(headers['content-type']).toBe('application/json');
  });

  test('reads the headers for each call, so that a rotated token is used immediately', async () => {
    const { url, requests } = await startServer(respondWith(200, { n: 1 }));
    const tokens = ['old', 'new'];
    const client = clientOf(url, { headers: () => ({ authorization: `Bearer ${tokens.shift()}` }) });
    await client.call(get);
    await client.call(get);
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
  });
});

describe('urlOf', () => {
  test.each([
    ['https://hub.example', 'https://hub.example/api/things'],
    ['https://hub.example/', 'https://hub.example/api/things'],
    ['https://hub.example/fleet//', 'https://hub.example/fleet/api/things'],
    ['http://[::1]:8001', 'http://[::1]:8001/api/things'],
  ])('appends the path of a call to %s: %s', (base, expected) => {
    expect(urlOf(base, '/api/things').href).toBe(expected);
  });

  test.each([
    ['j_1', 'j_1'],
    ['a/b', 'a%2Fb'],
    ['a?b#c', 'a%3Fb%23c'],
    ['a b%00', 'a%20b%2500'],
    ['ä', '%C3%A4'],
    ['//evil.com', '%2F%2Fevil.com'],
    ['@evil.com', '%40evil.com'],
  ])('encodes the parameter %s as the single segment %s', (id, segment) => {
    const url = urlOf('http://hub', '/api/things/:id/parts/:part_id', { id, part_id: 2 });
    expect(url.href).toBe(`http://hub/api/things/${segment}/parts/2`);
  });

  test('encodes the query, and omits undefined values', () => {
    const query = { status: 'a&b=c', limit: 5, all: false, none: undefined, text: 'ä +' };
    const url = urlOf('http://hub', '/api/things', {}, query);
    expect(url.search).toBe('?status=a%26b%3Dc&limit=5&all=false&text=%C3%A4+%2B');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      status: 'a&b=c',
      limit: '5',
      all: 'false',
      text: 'ä +',
    });
  });

  test('sends the URL exactly as urlOf built it', async () => {
    const { url, requests } = await startServer(respondWith(200, { n: 1 }));
    const list = call({
      ...commonFields,
      method: 'GET',
      path: '/api/:id',
      params: z.object({ id: z.string() }),
      query: z.object({ q: z.string() }),
    });
    await clientOf(`${url}/fleet/`).call(list, { params: { id: 'a/b' }, query: { q: '1&2' } });
    expect(requests[0]?.url).toBe('/fleet/api/a%2Fb?q=1%262');
  });
});

describe('a failed call', () => {
  const problem = {
    type: 'about:blank',
    title: 'Gone',
    status: 409,
    detail: 'It moved',
    code: 'attempt_superseded',
  };

  test('returns the problem of a refused call', async () => {
    const { url } = await startServer(respondWith(409, { ...problem, action: 'stop' }));
    const failure = { kind: 'problem', status: 409, problem: { ...problem, action: 'stop' } };
    expect(await clientOf(url).call(get)).toEqual({ ok: false, failure });
  });

  test.each<readonly [string, number, unknown]>([
    ['a response that is not JSON', 200, '<html>welcome to the proxy</html>'],
    ['a response of another shape', 200, { n: 'one' }],
    ['an empty response', 204, ''],
    ['an error without a problem', 502, '<html>bad gateway</html>'],
    ['an error of another format', 500, { error: 'oops' }],
    ['an error with a valid body', 500, { n: 1 }],
  ])('returns a failure of the kind unexpected that quotes %s', async (_title, status, body) => {
    const { url } = await startServer(respondWith(status, body));
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const detail = `GET /api/things had the unexpected response ${status}: ${text}`;
    expect(await clientOf(url).call(get)).toEqual({
      ok: false,
      failure: { kind: 'unexpected', status, detail },
    });
  });

  test('returns only the first 200 characters of an unexpected response', async () => {
    const { url } = await startServer(respondWith(500, 'x'.repeat(100_000)));
    const result = await clientOf(url).call(get);
    expect(result).toMatchObject({ failure: { detail: expect.stringMatching(/: x{200}$/) } });
  });

  test('returns unreachable when nothing listens', async () => {
    const { server, url } = await startServer(respondWith(200, { n: 1 }));
    await new Promise(resolve => server.close(resolve));
    const result = await clientOf(url).call(get);
    expect(result).toMatchObject({
      failure: { kind: 'unreachable', cause: { cause: { code: 'ECONNREFUSED' } } },
    });
  });

  test('returns unreachable for an invalid address', async () => {
    expect(await clientOf('nonsense').call(get)).toMatchObject({ failure: { kind: 'unreachable' } });
  });

  test.each<readonly [string, RequestListener]>([
    ['nothing', () => {}],
    ['only a part of the response', (_request, response) => response.writeHead(200).write('{"n":')],
  ])('returns unreachable when the server sends %s before the timeout', async (_title, answer) => {
    const { url } = await startServer(answer);
    const result = await clientOf(url, { timeoutMs: 60 }).call(get);
    expect(result).toMatchObject({ failure: { kind: 'unreachable', cause: { name: 'TimeoutError' } } });
  });

  test('returns unreachable when the call is aborted', async () => {
    const stop = new AbortController();
    const { url, requests } = await startServer(() => stop.abort());
    const result = await clientOf(url).call(get, { signal: stop.signal });
    expect(result).toMatchObject({ failure: { kind: 'unreachable', cause: { name: 'AbortError' } } });
    expect(requests).toHaveLength(1);
  });

  test.each([301, 302, 307, 308])(
    'returns unreachable for a redirect with %d, and does not send the token to the redirect target',
    async status => {
      const redirectTarget = await startServer(respondWith(200, { n: 1 }));
      const { url } = await startServer(
        respondWith(status, '', { location: `${redirectTarget.url}/api/things` }),
      );
      const client = clientOf(url, { headers: () => ({ authorization: 'Bearer secret' }) });
      expect(await client.call(post, { body: { a: 1 } })).toMatchObject({ failure: { kind: 'unreachable' } });
      expect(redirectTarget.requests).toEqual([]);
    },
  );
});
