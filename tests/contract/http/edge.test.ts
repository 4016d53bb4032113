// See docs/internals/faults.md, S1 to S3.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditApi, eventsApi } from '../../../protocol/admin-api.ts';
import type { Call } from '../../../protocol/call.ts';
import { urlOf } from '../../../protocol/client.ts';
import { everyCall as rows } from '../../support/every-call.ts';
import { sendBytes } from '../../support/raw-request.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
// Session cookie of a user with all permissions.
let cookie: string;
beforeAll(async () => {
  server = await startTestServer({ failureLimit: { note: () => 'count' } });
  const signedIn = await fetch(`${server.url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url },
    body: JSON.stringify({ token: server.adminToken }),
  });
  cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  expect(cookie).toContain('trainyard_session=ts_');
});
afterAll(() => server.close());

const namedCalls = rows.map(row => [`${row.method} ${row.path}`, row] as const);

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly detail: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
}

// Sends a request with exactly these headers. `fetch` would add its own Host header.
function send(
  row: { readonly method: string; readonly path: Call['path'] },
  headers: Readonly<Record<string, string | readonly string[]>>,
): Promise<Answer> {
  const url = urlOf(
    server.url,
    row.path,
    { id: 'x' },
    row.path.startsWith('/api/workers/') ? { worker_id: 'w_x' } : {},
  );
  return new Promise((resolve, reject) => {
    const flat: readonly (readonly [string, string])[] = Object.entries(headers).flatMap(([name, values]) =>
      [values].flat().map(value => [name, value] as const),
    );
    const outgoing = request(url, {
      method: row.method,
      setHost: false,
      headers: flat.flat(),
    });
    outgoing.once('error', reject);
    outgoing.once('response', response => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      const done = (): void => {
        const isProblem = String(response.headers['content-type']).startsWith('application/problem+json');
        const { code = null, detail = null } = isProblem
          ? (JSON.parse(text) as { readonly code?: unknown; readonly detail?: unknown })
          : {};
        resolve({ status: response.statusCode ?? 0, code, detail, headers: response.headers });
      };
      response.once('end', done);
      if (row.path === eventsApi.stream.path && response.statusCode === 200) response.destroy();
      response.once('close', done);
    });
    outgoing.end();
  });
}

// Headers that browsers send for pages of another site.
const crossSiteHeaders: readonly Readonly<Record<string, string>>[] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'http://127.0.0.1.evil.example' },
  { 'sec-fetch-site': 'cross-site' },
  // A page on another port of this machine.
  { 'sec-fetch-site': 'same-site' },
];
const changingMethods = ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'];
const corsHeaders = ({ headers }: Answer): readonly string[] =>
  Object.keys(headers).filter(name => name.startsWith('access-control'));

const bearer = () => ({ authorization: `Bearer ${server.adminToken}` });
const ownHost = () => new URL(server.url).host;

describe.each(namedCalls)('edge checks of %s', (_name, row) => {
  test('refuses a foreign or repeated host name', async () => {
    for (const host of ['evil.example', '127.evil.example', `evil.example:${new URL(server.url).port}`])
      expect(await send(row, { host, ...bearer() })).toMatchObject({ status: 421, code: 'wrong_host' });
    expect((await send(row, { host: [ownHost(), ownHost()], ...bearer() })).status).toBe(400);
  });

  test('refuses changes from a page of another site, without CORS headers', async () => {
    for (const headers of crossSiteHeaders)
      for (const method of changingMethods) {
        const answer = await send({ method, path: row.path }, { host: ownHost(), ...headers, cookie });
        expect(answer).toMatchObject({ status: 403, code: 'cross_site' });
        expect(corsHeaders(answer)).toEqual([]);
      }
    const preflight = await send(
      { method: 'OPTIONS', path: row.path },
      { host: ownHost(), origin: 'https://evil.example', 'access-control-request-method': row.method },
    );
    expect(preflight.status).toBe(405);
    expect(corsHeaders(preflight)).toEqual([]);
  });

  test('ignores the session cookie of a request from a page of another site', async () => {
    for (const headers of crossSiteHeaders) {
      const answer = await send({ method: 'GET', path: row.path }, { host: ownHost(), ...headers, cookie });
      // Public calls answer such a request, too, but the browser does not let the page read the answer.
      if (row.method === 'GET' && row.authority !== 'open') expect([401, 403]).toContain(answer.status);
      expect(corsHeaders(answer)).toEqual([]);
    }
  });
});

test('changes no data when it refuses requests with a foreign host, origin or site', async () => {
  const { total, entries } = valueOf(await server.admin.call(auditApi.list, { query: { limit: 500 } }));
  expect(entries.map(({ event_type: type }) => type).filter(type => type !== 'auth.refused')).toEqual([
    'auth.signed_in',
    'session.created',
  ]);
  expect(total).toBe(entries.length);
});

test('refuses a request without a host name in HTTP 1.0 and 1.1', async () => {
  const lines = ['Connection: close', `Authorization: Bearer ${server.adminToken}`, '', ''].join('\r\n');
  for (const version of ['1.0', '1.1'])
    for (const host of ['', 'Host:\r\n', 'Host: \r\n'])
      expect(await sendBytes(server.url, `GET /api/queue HTTP/${version}\r\n${host}${lines}`)).toMatch(
        /^HTTP\/1\.1 400 /,
      );
});

test('accepts an allowed host name and every loopback address', async () => {
  for (const host of ['trainyard.example', 'Trainyard.Example:443', 'localhost:1', '127.0.0.9', '[::1]:5'])
    expect((await send({ method: 'GET', path: '/health/live' }, { host })).status).toBe(200);
});

test('names the flag that allows a foreign host name, in the answer and once in the log', async () => {
  const detail = async (host: string): Promise<unknown> => {
    const answer = await send({ method: 'GET', path: '/health/live' }, { host });
    return [answer.status, answer.detail];
  };
  const remedy =
    'Start it with --allow-host orchestrator.example.com, or open it by an address of its machine';
  for (const host of ['orchestrator.example.com', 'Orchestrator.Example.com:8001'])
    expect(await detail(host)).toEqual([
      421,
      `This orchestrator does not answer to orchestrator.example.com. ${remedy}`,
    ]);
  const lines = server.log.filter(
    line => line.includes('http.wrong_host') && line.includes('orchestrator.example.com'),
  );
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(remedy);
  expect(await detail(`${'a.'.repeat(130)}example`)).toEqual([
    400,
    'Send one Host header, with a name or an address',
  ]);
});

test('sends headers against framing, sniffing and referrers with every answer', async () => {
  for (const path of ['/health/live', '/no/such/call', '/api/queue'] as const)
    expect((await send({ method: 'GET', path }, { host: ownHost() })).headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
});
