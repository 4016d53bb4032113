// See docs/internals/faults.md, S5.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { Call } from '../../../protocol/call.ts';
import { urlOf } from '../../../protocol/client.ts';
import { everyCall } from '../../support/every-call.ts';
import { bearer, type RawAnswer, sendBytes, sendRaw } from '../../support/raw-request.ts';
import { openRig, startJob } from '../../support/upload-bench.ts';
import { joinTokenOf, startTestServer, type TestServer, valueOf } from '../../support/server.ts';

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

const protectedCalls = everyCall.filter(({ authority }) => authority !== 'open');
const longToken = `tk_${'x'.repeat(10_000)}`;
const wrongToken = 'tk_first-of-two';

// Returns the token that the call requires, and the header for it.
function validTokenFor({ authority }: Call): {
  readonly token: string;
  readonly asHeader: (token: string) => Header;
} {
  if (authority === 'upload') return { token: uploadToken, asHeader: token => ['x-upload-token', token] };
  const workerTokens = { worker: workerToken, join: joinToken };
  return authority === 'worker' || authority === 'join'
    ? { token: workerTokens[authority], asHeader: token => ['x-worker-token', token] }
    : { token: server.adminToken, asHeader: bearer };
}

const send = (row: Call, headers: readonly Header[]): Promise<RawAnswer> => {
  const { pathname, search } = urlOf(
    server.url,
    row.path,
    { id: 'x', name: 'x', bucket: 'outputs', key: 'x' },
    { worker_id: 'w_x', limit: 1 },
  );
  return sendRaw(server.url, { method: row.method, path: pathname + search, headers });
};

// `codes` contains each code that the answer may have.
type Form = readonly [what: string, headersOf: (row: Call) => readonly Header[], codes: string];
const forms: readonly Form[] = [
  ['no token', () => [], 'token_missing'],
  ['an empty token', row => [validTokenFor(row).asHeader('')], 'token_missing or token_invalid'],
  ['a token of 10 kB', row => [validTokenFor(row).asHeader(longToken)], 'token_invalid'],
  [
    'a list with the valid token',
    row => [validTokenFor(row).asHeader(`["${validTokenFor(row).token}"]`)],
    'token_invalid',
  ],
  [
    'a valid token before an invalid token',
    row => [validTokenFor(row).asHeader(validTokenFor(row).token), validTokenFor(row).asHeader(wrongToken)],
    'token_invalid',
  ],
  [
    'a valid token after an invalid token',
    row => [validTokenFor(row).asHeader(wrongToken), validTokenFor(row).asHeader(validTokenFor(row).token)],
    'token_invalid',
  ],
  [
    'a valid token twice',
    row => [
      validTokenFor(row).asHeader(validTokenFor(row).token),
      validTokenFor(row).asHeader(validTokenFor(row).token),
    ],
    'token_invalid',
  ],
  [
    'a valid token with an additional character',
    row => [validTokenFor(row).asHeader(`${validTokenFor(row).token}x`)],
    'token_invalid',
  ],
  [
    'a valid token without its last character',
    row => [validTokenFor(row).asHeader(validTokenFor(row).token.slice(0, -1))],
    'token_invalid',
  ],
  [
    'a valid token in another scheme',
    row => [['authorization', `Basic ${validTokenFor(row).token}`]],
    'token_missing',
  ],
];

describe.each(protectedCalls.map(row => [`${row.method} ${row.path}`, row] as const))(
  'tokens of %s',
  (_name, row) => {
    test('refuses every invalid form of a token and accepts the valid token', async () => {
      for (const [what, headersOf, codes] of forms) {
        const answer = await send(row, headersOf(row));
        expect([what, answer.status], `answered: ${answer.text}`).toEqual([what, 401]);
        expect(codes).toContain(answer.code?.replace('join_', ''));
      }
      const { token, asHeader } = validTokenFor(row);
      expect((await send(row, [asHeader(token)])).status).not.toBe(401);
    });
  },
);

test.each([
  ['authorization', 'Bearer tk_'],
  ['x-worker-token', 'wt_'],
])('refuses a NUL character in the header %s, and a value that is too long', async (name, prefix) => {
  const request = (value: string): string =>
    `GET /api/queue HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\n${name}: ${value}\r\nConnection: close\r\n\r\n`;
  expect(await sendBytes(server.url, request(`${prefix}a\0b`))).toMatch(/^HTTP\/1\.1 400 /);
  expect(await sendBytes(server.url, request(`${prefix}${'x'.repeat(40_000)}`))).toMatch(/^HTTP\/1\.1 431 /);
});

test('audits only the start of the hash of an invalid token', async () => {
  const entries = [];
  for (let offset = 0; ; offset += 500) {
    const query = { event_type: 'auth.*', limit: 500, offset };
    const page = valueOf(await server.admin.call(auditApi.list, { query })).entries;
    entries.push(...page);
    if (page.length < 500) break;
  }
  const triedTokens = [
    longToken,
    wrongToken,
    `${server.adminToken}x`,
    server.adminToken.slice(0, -1),
    workerToken.slice(0, -1),
  ];
  const text = JSON.stringify(entries) + server.log.join('');
  for (const secret of [...triedTokens, server.adminToken, workerToken]) expect(text).not.toContain(secret);
  expect(text).not.toContain('xxxxxxxxx');
  const tokenRows = entries.filter(({ details }) => details['why'] !== 'not_your_worker');
  for (const { details } of tokenRows)
    expect(details).toEqual({
      why: expect.stringMatching(/^(?:join_)?token_(?:missing|invalid)$/) as unknown,
      sha256: expect.stringMatching(/^[0-9a-f]{8}$/) as unknown,
    });
  const auditedHashes = new Set(tokenRows.map(({ details }) => details['sha256']));
  // The trail records the first 30 refusals of an address, and only counts further refusals.
  for (const secret of [longToken, `${joinToken}x`, workerToken.slice(0, -1)])
    expect(auditedHashes).toContain(createHash('sha256').update(secret).digest('hex').slice(0, 8));
});
