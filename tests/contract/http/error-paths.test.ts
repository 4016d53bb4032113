// See docs/internals/faults.md, S3 and S22.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Call } from '../../../protocol/call.ts';
import { Problem } from '../../../protocol/problem.ts';
import { everyCall } from '../../support/every-call.ts';
import { asJson, bearer, type RawAnswer, type RawRequest, sendRaw } from '../../support/raw-request.ts';
import { openRig, startJob } from '../../support/upload-bench.ts';
import { joinTokenOf, startTestServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let workerToken: string;
let joinToken: string;
let uploadToken: string;
beforeAll(async () => {
  server = await startTestServer({ failureLimit: { note: () => 'count' } });
  workerToken = (await server.createWorker({ name: 'rig-1' })).token;
  joinToken = await joinTokenOf(server);
  uploadToken = (await startJob(server, await openRig(server, 'rig-training'))).token;
});
afterAll(() => server.close());

type Header = readonly [name: string, value: string];

function tokenFor({ authority }: Call): Header {
  if (authority === 'join') return ['x-worker-token', joinToken];
  if (authority === 'upload') return ['x-upload-token', uploadToken];
  return authority === 'worker' ? ['x-worker-token', workerToken] : bearer(server.adminToken);
}

const pathOf = ({ path }: Call, value = 'x_none'): string => path.replaceAll(/[:*][a-z_]+/g, value);

// Returns true if the path also matches this call. A fixed path of one call can match a parameter of another call.
const matchesPath = (row: Call, path: string): boolean =>
  new RegExp(`^${row.path.replaceAll(/:[a-z_]+/g, '[^/]+').replace(/\*\w+/, '.+')}$`).test(path);

// Describes the request for an assertion message.
const requestLine = ({ method = 'GET', path }: RawRequest): string => `${method} ${path.slice(0, 80)}`;

function expectProblem(request: RawRequest, answer: RawAnswer): void {
  const { status, headers, text } = answer;
  expect([requestLine(request), headers['content-type']], `answered: ${text}`).toEqual([
    requestLine(request),
    'application/problem+json; charset=utf-8',
  ]);
  const problem = Problem.parse(JSON.parse(text));
  expect(problem.status).toBe(status);
  expect(problem.request_id).toMatch(/^[\w-]{8,}$/);
  expect(problem.request_id).toBe(headers['x-request-id']);
  expect(text).not.toMatch(
    /\n\s+at |\\n\s+at |\.[tj]s:\d|node_modules|node:internal|SQLITE|no such (?:table|column)|SELECT |INSERT |UPDATE \w+ SET/,
  );
  for (const internalPath of [server.dataDir, process.cwd(), '/tmp/', '/root/', 'trainyard.db'])
    expect(text).not.toContain(internalPath);
}

const withBody = everyCall.filter(({ method, takesBytes }) => method !== 'GET' && !takesBytes);
const deepBody = `${'{"config":['.repeat(500)}1${']}'.repeat(500)}`;

describe.each(withBody.map(row => [`${row.method} ${row.path}`, row] as const))(
  'body of %s',
  (_name, row) => {
    const send = async (headers: readonly Header[], body: string | Uint8Array): Promise<RawAnswer> => {
      const request = { method: row.method, path: pathOf(row), headers, body };
      const answer = await sendRaw(server.url, request);
      if (answer.status >= 400) expectProblem(request, answer);
      return answer;
    };

    test('accepts a body only as JSON', async () => {
      const types = [
        'text/plain',
        'text/plain;application/json',
        'multipart/form-data; boundary=x',
        'application/xml',
        '',
      ];
      for (const type of types)
        expect(await send([tokenFor(row), ['content-type', type]], '{}')).toMatchObject({
          status: 415,
          code: 'media_type',
        });
      // The guide's curl commands send JSON with this type and a bearer header. Without that header, the server refuses the
      // type, because pages of other sites can make a browser send forms.
      const form: Header = ['content-type', 'application/x-www-form-urlencoded'];
      const [name] = tokenFor(row);
      const isBearer = name === 'authorization';
      if (!isBearer || row.authority === 'open')
        expect((await send(isBearer ? [form] : [tokenFor(row), form], '{}')).status).toBe(415);
    });

    test.each<
      readonly [
        what: string,
        status: number,
        code: string,
        body: string | Uint8Array,
        headers: readonly Header[],
      ]
    >([
      ['text other than JSON', 400, 'malformed_json', 'name=x', []],
      ['truncated JSON', 400, 'malformed_json', '{"name": "x', []],
      ['brackets 1,000 deep', 400, 'malformed_json', deepBody, []],
      ['a body above 1 MiB', 413, 'body_too_large', `{"x":"${'x'.repeat(1_048_576)}"}`, []],
      ['a compressed body', 415, 'media_type', 'x', [['content-encoding', 'gzip']]],
      ['a body compressed twice', 415, 'media_type', 'x', [['content-encoding', 'gzip, br']]],
    ])('refuses %s', async (_what, status, code, body, headers) => {
      expect(await send([tokenFor(row), asJson, ...headers], body)).toMatchObject({ status, code });
    });
  },
);

describe.each(everyCall.map(row => [`${row.method} ${row.path}`, row] as const))(
  'error paths of %s',
  (_name, row) => {
    const send = async (
      request: Omit<RawRequest, 'headers'>,
      headers: readonly Header[],
    ): Promise<RawAnswer> => {
      const answer = await sendRaw(server.url, { ...request, headers });
      if (answer.status >= 400) expectProblem({ ...request, headers }, answer);
      return answer;
    };
    const body = row.method === 'GET' ? {} : { body: '{"__proto__":{"name":"x"},"name":{"a":[]},"id":null}' };

    test('reveals no internals for odd queries and bodies', async () => {
      const queries = [
        '',
        '?limit=abc&offset=-1&since=never&status=%00&cursor=x',
        `?q=${'x'.repeat(4_000)}`,
        '?%zz=%',
        '?limit[a]=1',
      ];
      const statuses: number[] = [];
      const sendTo = async (path: string, ...headers: readonly Header[]): Promise<number> => {
        const { status } = await send({ method: row.method, path, ...body }, [asJson, ...headers]);
        statuses.push(status);
        return status;
      };
      for (const query of queries) await sendTo(pathOf(row) + query, tokenFor(row));
      const unreadable = await sendTo(pathOf(row, '%zz'), tokenFor(row));
      if (row.path.includes(':')) expect(unreadable).toBe(400);
      if (row.authority !== 'open') expect(await sendTo(pathOf(row))).toBe(401);
      expect(statuses.filter(status => status >= 500)).toEqual([]);
    });

    test('answers 405 with an Allow header to a method that no call on the path has', async () => {
      const allowed = new Set<string>(
        everyCall.filter(other => matchesPath(other, pathOf(row))).map(({ method }) => method),
      );
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].filter(
        each => !allowed.has(each),
      )) {
        const answer = await send({ method, path: pathOf(row) }, [tokenFor(row)]);
        expect([method, answer.status]).toEqual([method, 405]);
        expect(answer.headers.allow).toBeTypeOf('string');
      }
    });
  },
);

test('answers an unexpected error with a request id, and logs the details with the same request id', async () => {
  const brokenServer = await startTestServer();
  onTestFinished(() => brokenServer.close().catch(() => undefined));
  const db = new Database(join(brokenServer.dataDir, 'trainyard.db'));
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all();
  // Without its tables, the database fails every statement.
  for (const table of tables) db.exec(`ALTER TABLE "${table}" RENAME TO "${table}_gone"`);
  const failures: RawAnswer[] = [];
  for (const row of everyCall.filter(({ authority }) => authority !== 'worker')) {
    // Skip streams, which have sent their headers before the failure is known.
    if (row.stream !== undefined) continue;
    const request = {
      method: row.method,
      path: pathOf(row),
      headers: [bearer(brokenServer.adminToken), asJson],
      ...(row.method !== 'GET' && { body: '{}' }),
    };
    const answer = await sendRaw(brokenServer.url, request);
    if (answer.status < 500) continue;
    expectProblem(request, answer);
    failures.push(answer);
  }
  await vi.waitFor(
    () => expect(brokenServer.log.some(line => line.includes('notification.outbox_unreadable'))).toBe(true),
    { timeout: 5_000 },
  );
  for (const table of tables) db.exec(`ALTER TABLE "${table}_gone" RENAME TO "${table}"`);
  db.close();
  const internal = failures.filter(({ code }) => code === 'internal');
  expect(internal.length).toBeGreaterThan(3);
  for (const { headers } of internal) {
    const line = brokenServer.log.find(each => each.includes(String(headers['x-request-id'])));
    expect(line).toMatch(/no such table/);
  }
});
