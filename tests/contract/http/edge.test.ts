/** Every call, as a page of another site and a name of somebody else would make it: FAULTS.md, S1 to S3. */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventsApi } from '../../../protocol/admin-api.ts';
import type { Call } from '../../../protocol/call.ts';
import { urlOf } from '../../../protocol/client.ts';
import { everyCall as rows } from '../../support/every-call.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ failureLimit: { note: () => 'count' } });
});
afterAll(() => server.close());

const named = rows.map(row => [`${row.method} ${row.path}`, row] as const);

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** `fetch` sends no Host but its own. */
function send(
  row: Pick<Call, 'method' | 'path'>,
  headers: Readonly<Record<string, string | readonly string[]>>,
): Promise<Answer> {
  const url = urlOf(server.url, row.path, { id: 'x' }, { worker_id: 'w_x' });
  return new Promise((resolve, reject) => {
    const flat: readonly (readonly [string, string])[] = Object.entries(headers).flatMap(([name, values]) =>
      [values].flat().map(value => [name, value] as const),
    );
    const sent = request(url, {
      method: row.method,
      setHost: false,
      headers: flat.flat(),
    });
    sent.once('error', reject);
    sent.once('response', response => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      const done = (): void => {
        const isProblem = String(response.headers['content-type']).startsWith('application/problem+json');
        const code = isProblem ? (JSON.parse(text) as { readonly code: unknown }).code : null;
        resolve({ status: response.statusCode ?? 0, code, headers: response.headers });
      };
      response.once('end', done);
      if (row.path === eventsApi.stream.path && response.statusCode === 200) response.destroy();
      response.once('close', done);
    });
    sent.end();
  });
}

const bearer = () => ({ authorization: `Bearer ${server.adminToken}` });
const ownHost = () => new URL(server.url).host;

describe.each(named)('%s', (_name, row) => {
  test('is not answered under the name of somebody else', async () => {
    for (const host of ['evil.example', '127.evil.example', `evil.example:${new URL(server.url).port}`])
      expect(await send(row, { host, ...bearer() })).toMatchObject({ status: 421, code: 'wrong_host' });
    expect((await send(row, { host: [ownHost(), ownHost()], ...bearer() })).status).toBe(400);
  });

  test('does nothing for a page of another site, and invites none', async () => {
    const elsewhere: readonly Readonly<Record<string, string>>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of elsewhere) {
      const answer = await send(row, { host: ownHost(), ...headers, cookie: 'trainyard_session=ts_x' });
      if (row.method !== 'GET') expect(answer).toMatchObject({ status: 403, code: 'cross_site' });
      expect(Object.keys(answer.headers).filter(name => name.startsWith('access-control'))).toEqual([]);
    }
    const preflight = await send(
      { method: 'OPTIONS' as Call['method'], path: row.path },
      { host: ownHost(), origin: 'https://evil.example', 'access-control-request-method': row.method },
    );
    expect(preflight.status).toBe(405);
    expect(Object.keys(preflight.headers).filter(name => name.startsWith('access-control'))).toEqual([]);
  });
});

test('a name that was allowed is ours, as is every address of the loopback', async () => {
  for (const host of ['trainyard.example', 'Trainyard.Example:443', 'localhost:1', '127.0.0.9', '[::1]:5'])
    expect((await send({ method: 'GET', path: '/health/live' }, { host })).status).toBe(200);
});

test('every answer says that it is shown in no frame, sniffed for nothing and refers to nobody', async () => {
  for (const path of ['/health/live', '/no/such/call', '/api/queue'] as const)
    expect((await send({ method: 'GET', path }, { host: ownHost() })).headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
});
