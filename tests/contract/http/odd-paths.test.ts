// See docs/internals/faults.md, S9.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Call } from '../../../protocol/call.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { everyCall } from '../../support/every-call.ts';
import { asJson, bearer, type RawAnswer, sendRaw } from '../../support/raw-request.ts';
import { openRig, startJob } from '../../support/upload-bench.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
let workerToken: string;
let uploadToken: string;
beforeAll(async () => {
  server = await startTestServer();
  workerToken = (await server.createWorker({ name: 'rig-1' })).token;
  uploadToken = (await startJob(server, await openRig(server, 'rig-2'))).token;
});
afterAll(() => server.close());

const callsWithParameters = everyCall.filter(({ path }) => path.includes(':'));

// Odd values of a path parameter, as they are written in the path.
const oddValues: readonly string[] = [
  '..',
  '.',
  '...',
  '%2e%2e',
  '%2e%2e%2f',
  '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  '..%2f..%2fadmin-token',
  '..%5c..%5cadmin-token',
  '%252e%252e%252f',
  '%2fetc%2fpasswd',
  'C%3a%5ccon',
  'a%00b',
  '%00',
  'a%0ab',
  'a%0d%0aX-Forged%3a%201',
  '%c0%ae%c0%ae',
  '%ff',
  '%zz',
  '%',
  '*',
  '%20',
  "'%3b%20DROP%20TABLE%20jobs%3b%20--",
  '%e2%80%ae',
  '__proto__',
  'constructor',
  'x'.repeat(10_000),
];

const send = (row: Call, value: string): Promise<RawAnswer> =>
  sendRaw(server.url, {
    method: row.method,
    // The path can contain the value twice, so cut the second value to stay below the limit for headers.
    path: row.path.replaceAll(/:[a-z_]+/g, () => value).replace(/\*[a-z_]+/, () => value.slice(0, 3_000)),
    headers: [
      row.authority === 'worker'
        ? ['x-worker-token', workerToken]
        : row.authority === 'upload'
          ? ['x-upload-token', uploadToken]
          : bearer(server.adminToken),
      asJson,
    ],
    ...(row.method !== 'GET' && { body: '{}' }),
  });

// Returns true for a value that looks odd but is a valid name.
const isPlain = (value: string): boolean => /^[\w-]{1,64}$/.test(value);

// Returns true when the refusal is about the path. A refusal of only the body would hide an accepted path.
function isRefused(row: Call, value: string, { status, code, text }: RawAnswer): boolean {
  if (status === 404) return code !== null;
  // A valid bucket name refers to a job that this token does not own.
  if (row.authority === 'upload' && isPlain(value)) return status === 403 && code === 'not_your_job';
  if (status !== 400 || code !== 'invalid_request') return false;
  const { errors = [], detail } = JSON.parse(text) as {
    readonly errors?: readonly { readonly field: string }[];
    readonly detail: string;
  };
  // The configs folder validates a name only together with a config to store.
  return (
    row.method === 'PUT' ||
    isPlain(value) ||
    errors.some(({ field }) =>
      ['id', 'name', 'confirm', 'bucket', 'key', 'digest', 'template'].includes(field),
    ) ||
    detail === 'The request could not be read' ||
    /name/.test(detail)
  );
}

test('finds in each path one parameter, or two when the path ends with a wildcard', () => {
  expect(callsWithParameters.length).toBeGreaterThan(20);
  for (const { path } of callsWithParameters)
    expect(path.match(/[:*][a-z_]+/g)).toHaveLength(path.includes('*') ? 2 : 1);
});

describe.each(callsWithParameters.map(row => [`${row.method} ${row.path}`, row] as const))(
  'odd values in the path of %s',
  (_name, row) => {
    test('refuses every odd value, reveals nothing and changes nothing', async () => {
      const before = valueOf(await server.admin.call(queueApi.list, {})).as_of_seq;
      for (const value of oddValues) {
        const answer = await send(row, value);
        expect([value.slice(0, 40), isRefused(row, value, answer)], `answered: ${answer.text}`).toEqual([
          value.slice(0, 40),
          true,
        ]);
        expect(answer.text).not.toMatch(/root:|\n\s+at |node_modules|SQLITE/);
        expect(answer.headers['x-forged']).toBeUndefined();
      }
      expect(valueOf(await server.admin.call(queueApi.list, {})).as_of_seq).toBe(before);
    });
  },
);
