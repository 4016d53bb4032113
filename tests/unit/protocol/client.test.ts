/** Calls rows over HTTP: every failure is a value. docs/internals/faults.md S18. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { call } from '../../../protocol/call.ts';
import { type ClientOptions, createClient, urlOf } from '../../../protocol/client.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function listen(answer: RequestListener): Promise<{ server: Server; url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body });
      answer(request, response);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const clientOf = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, headers: () => ({}), timeoutMs: 5_000, ...options });

/** Answers everything with this. */
const always =
  (status: number, body: unknown, headers = {}): RequestListener =>
  (_request, response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };

const parts = { authority: 'open', summary: 'Try it', reply: z.object({ n: z.number() }) } as const;
const get = call({ ...parts, method: 'GET', path: '/api/things' });
const post = call({ ...parts, method: 'POST', path: '/api/things', body: z.object({ a: z.number() }) });
const remove = call({
  ...parts,
  method: 'DELETE',
  path: '/api/things/:id/parts/:part_id',
  params: z.object({ id: z.string(), part_id: z.number() }),
});

describe('a call that is answered', () => {
  test('gives what its row promises, and no more', async () => {
    const { url, seen } = await listen(always(200, { n: 1, more: 2 }));
    expect(await clientOf(url).call(get)).toEqual({ ok: true, value: { n: 1 } });
    expect(seen).toMatchObject([{ method: 'GET', url: '/api/things', body: '' }]);
    expect(seen[0]?.headers).toMatchObject({ accept: 'application/json' });
    expect(seen[0]?.headers).not.toHaveProperty('content-type');
  });

  test('carries its body as JSON, an empty one too', async () => {
    const { url, seen } = await listen(always(200, { n: 1 }));
    await clientOf(url).call(post, { body: { a: 1 } });
    await clientOf(url).call(remove, { params: { id: 'x', part_id: 2 } });
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"a":1}'],
      ['DELETE', '{}'],
    ]);
    for (const { headers } of seen) expect(headers['content-type']).toBe('application/json');
  });

  test('asks for the headers anew each time: a rotated token is used at once', async () => {
    const { url, seen } = await listen(always(200, { n: 1 }));
    const tokens = ['old', 'new'];
    const client = clientOf(url, { headers: () => ({ authorization: `Bearer ${tokens.shift()}` }) });
    await client.call(get);
    await client.call(get);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
  });
});

describe('the address', () => {
  test.each([
    ['https://hub.example', 'https://hub.example/api/things'],
    ['https://hub.example/', 'https://hub.example/api/things'],
    ['https://hub.example/fleet//', 'https://hub.example/fleet/api/things'],
    ['http://[::1]:8001', 'http://[::1]:8001/api/things'],
  ])('of %s with or without a slash at its end', (base, expected) => {
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
  ])('holds the parameter %s as one segment', (id, segment) => {
    const url = urlOf('http://hub', '/api/things/:id/parts/:part_id', { id, part_id: 2 });
    expect(url.href).toBe(`http://hub/api/things/${segment}/parts/2`);
  });

  test('holds the query, without what is undefined', () => {
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

  test('is asked for as it is written', async () => {
    const { url, seen } = await listen(always(200, { n: 1 }));
    const list = call({
      ...parts,
      method: 'GET',
      path: '/api/:id',
      params: z.object({ id: z.string() }),
      query: z.object({ q: z.string() }),
    });
    await clientOf(`${url}/fleet/`).call(list, { params: { id: 'a/b' }, query: { q: '1&2' } });
    expect(seen[0]?.url).toBe('/fleet/api/a%2Fb?q=1%262');
  });
});

describe('a call that fails', () => {
  const problem = {
    type: 'about:blank',
    title: 'Gone',
    status: 409,
    detail: 'It moved',
    code: 'attempt_superseded',
  };

  test('by a refusal says which', async () => {
    const { url } = await listen(always(409, { ...problem, action: 'stop' }));
    const failure = { kind: 'problem', status: 409, problem: { ...problem, action: 'stop' } };
    expect(await clientOf(url).call(get)).toEqual({ ok: false, failure });
  });

  test.each<readonly [string, number, unknown]>([
    ['something that is not JSON', 200, '<html>welcome to the proxy</html>'],
    ['something that is not what was asked for', 200, { n: 'one' }],
    ['nothing', 204, ''],
    ['an error without a reason', 502, '<html>bad gateway</html>'],
    ['an error with a reason of another make', 500, { error: 'oops' }],
    ['what was asked for, as an error', 500, { n: 1 }],
  ])('by %s says what came', async (_what, status, body) => {
    const { url } = await listen(always(status, body));
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const detail = `GET /api/things was answered ${status} with something unexpected: ${text}`;
    expect(await clientOf(url).call(get)).toEqual({
      ok: false,
      failure: { kind: 'unexpected', status, detail },
    });
  });

  test('by a flood says how it began', async () => {
    const { url } = await listen(always(500, 'x'.repeat(100_000)));
    const result = await clientOf(url).call(get);
    expect(result).toMatchObject({ failure: { detail: expect.stringMatching(/: x{200}$/) } });
  });

  test('because nobody is there', async () => {
    const { server, url } = await listen(always(200, { n: 1 }));
    await new Promise(resolve => server.close(resolve));
    const result = await clientOf(url).call(get);
    expect(result).toMatchObject({
      failure: { kind: 'unreachable', cause: { cause: { code: 'ECONNREFUSED' } } },
    });
  });

  test('because the address is none', async () => {
    expect(await clientOf('nonsense').call(get)).toMatchObject({ failure: { kind: 'unreachable' } });
  });

  test.each<readonly [string, RequestListener]>([
    ['at all', () => {}],
    ['to its end', (_request, response) => response.writeHead(200).write('{"n":')],
  ])('because it is not answered %s in time', async (_what, answer) => {
    const { url } = await listen(answer);
    const result = await clientOf(url, { timeoutMs: 60 }).call(get);
    expect(result).toMatchObject({ failure: { kind: 'unreachable', cause: { name: 'TimeoutError' } } });
  });

  test('because it is taken back', async () => {
    const stop = new AbortController();
    const { url, seen } = await listen(() => stop.abort());
    const result = await clientOf(url).call(get, { signal: stop.signal });
    expect(result).toMatchObject({ failure: { kind: 'unreachable', cause: { name: 'AbortError' } } });
    expect(seen).toHaveLength(1);
  });

  test.each([301, 302, 307, 308])('by a redirect (%d), and the token goes nowhere else', async status => {
    const elsewhere = await listen(always(200, { n: 1 }));
    const { url } = await listen(always(status, '', { location: `${elsewhere.url}/api/things` }));
    const client = clientOf(url, { headers: () => ({ authorization: 'Bearer secret' }) });
    expect(await client.call(post, { body: { a: 1 } })).toMatchObject({ failure: { kind: 'unreachable' } });
    expect(elsewhere.seen).toEqual([]);
  });
});
