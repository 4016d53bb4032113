import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { RenewCall } from '../../../../agent/connection/api-client.ts';
import { type Clock, systemClock } from '../../../../agent/clock.ts';
import { openNetwork, usualTrust } from '../../../../agent/connection/network.ts';
import { openStorage, type Storage } from '../../../../agent/artifacts/storage.ts';
import { decide } from '../../../../agent/retry/decisions.ts';
import { createInstantClock, sha256Of } from '../storage-server.ts';

/** Opens a storage client for an orchestrator whose responses `answer` writes. */
async function openTestStorage(
  answer: RequestListener,
  clock = systemClock,
  renew: RenewCall = () => Promise.resolve(null),
): Promise<Storage> {
  const server = createServer(answer);
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix`;
  return openStorage(
    { endpoint: '/store', token: 'tu_1' },
    { url, send: openNetwork(usualTrust), clock, renew },
  );
}
const neverAborted = new AbortController().signal;
const emptyBody = { bytes: 0, async *pieces() {} };

test('encodes the key as a path, and sends the upload token of the attempt', async () => {
  const request: unknown[] = [];
  const storage = await openTestStorage(({ method, url, headers }, response) => {
    request.push(method, url, headers['x-upload-token']);
    response.end('{}');
  });
  await storage.put('a b/ü?#.bin', { sha256: 'x', body: emptyBody, part: null }, neverAborted);
  expect(request).toEqual(['PUT', '/prefix/store/outputs/a%20b/%C3%BC%3F%23.bin', 'tu_1']);
});

test('reports a server that stops answering as unreachable', async () => {
  const silent = await openTestStorage(() => {}, createInstantClock());
  const unreachable = { ok: false, failure: { kind: 'unreachable' } };
  expect(await silent.list(neverAborted)).toMatchObject(unreachable);
  expect(await silent.progress('a', neverAborted)).toMatchObject(unreachable);
  expect(await silent.get('a', null, neverAborted)).toMatchObject(unreachable);
  expect(await silent.put('a', { sha256: 'x', body: emptyBody, part: null }, neverAborted)).toMatchObject(
    unreachable,
  );
});

test.each<[string, Readonly<Record<string, string>>]>([
  ['no digest', { 'content-length': '1' }],
  ['an invalid digest', { 'content-length': '1', etag: '"abc"' }],
  ['no length', { etag: `"${sha256Of('x')}"`, 'transfer-encoding': 'chunked' }],
])('rejects a download with %s', async (_title, headers) => {
  const storage = await openTestStorage(
    (_request, response) => void response.writeHead(200, headers).end('x'),
  );
  expect(await storage.get('a', null, neverAborted)).toMatchObject({
    ok: false,
    failure: { kind: 'unexpected', status: 200 },
  });
});

test.each(['', 'null', '<html>', '{"Contents":[{}]}'])('rejects %j as a list of stored files', async text => {
  const storage = await openTestStorage((_request, response) => void response.end(text));
  expect(await storage.list(neverAborted)).toMatchObject({ ok: false });
});

test('requests the rest of a partial file with Range and If-Range', async () => {
  const bytes = '0123456789';
  const etag = `"${sha256Of(bytes)}"`;
  const requestHeaders: unknown[] = [];
  const storage = await openTestStorage(({ headers }, response) => {
    requestHeaders.push(headers.range, headers['if-range']);
    if (headers.range === undefined) response.writeHead(200, { etag, 'content-length': 10 }).end(bytes);
    else response.writeHead(206, { etag, 'content-range': 'bytes 4-9/10' }).end('456789');
  });
  const whole = await storage.get('a', { from: 0, sha256: sha256Of(bytes) }, neverAborted);
  const rest = await storage.get('a', { from: 4, sha256: sha256Of(bytes) }, neverAborted);
  if (!whole.ok || !rest.ok) throw new Error('a download failed');
  expect(requestHeaders).toEqual([undefined, undefined, 'bytes=4-', etag]);
  expect([whole.value, rest.value]).toMatchObject([
    { from: 0, bytes: 10 },
    { from: 4, bytes: 10 },
  ]);
  await whole.value.discard();
  const pieces: Uint8Array[] = [];
  for await (const piece of rest.value.pieces()) pieces.push(piece);
  expect(Buffer.concat(pieces).toString()).toBe('456789');
});

test('reads every page of a list', async () => {
  const pages: Readonly<Record<string, { readonly keys: readonly string[]; readonly next: string | null }>> =
    {
      '/prefix/store/outputs': { keys: ['a', 'b'], next: '17' },
      '/prefix/store/outputs?cursor=17': { keys: ['c'], next: null },
    };
  const storage = await openTestStorage(({ url = '' }, response) => {
    const { keys, next } = pages[url] ?? expect.unreachable(url);
    const Contents = keys.map(Key => ({ Key, Size: 1, LastModified: 0, ETag: `"${sha256Of(Key)}"` }));
    response.end(JSON.stringify({ Name: 'outputs', Contents, IsTruncated: next !== null, NextCursor: next }));
  });
  const value = new Map(['a', 'b', 'c'].map(key => [key, sha256Of(key)]));
  expect(await storage.list(neverAborted)).toEqual({ ok: true, value });
});

/** Refuses a call because the upload token was rotated. */
const refuseRotated = (response: ServerResponse): void => {
  response.writeHead(401, { 'content-type': 'application/problem+json' });
  const problem = { type: 'about:blank', title: 'No', status: 401, detail: 'rotated' };
  response.end(JSON.stringify({ ...problem, code: 'upload_token_rotated' }));
};

test('repeats a call once with the new token after a rotation, and uses the new token afterwards', async () => {
  const requests: unknown[] = [];
  const storage = await openTestStorage(
    (request, response) => {
      requests.push([request.method, request.headers['x-upload-token']]);
      request.resume();
      if (request.headers['x-upload-token'] === 'tu_1') refuseRotated(response);
      else response.writeHead(200, { 'content-length': 0 }).end();
    },
    systemClock,
    token => Promise.resolve(token === 'tu_1' ? 'tu_2' : null),
  );
  const body = {
    bytes: 3,
    async *pieces() {
      yield Buffer.from('abc');
    },
  };
  expect(await storage.put('a', { sha256: 'x', body, part: null }, neverAborted)).toMatchObject({ ok: true });
  expect(await storage.progress('a', neverAborted)).toMatchObject({ ok: true });
  expect(requests).toEqual([
    ['PUT', 'tu_1'],
    ['PUT', 'tu_2'],
    ['HEAD', 'tu_2'],
  ]);
});

test('gets a new token when a HEAD call is refused', async () => {
  const storage = await openTestStorage(
    (request, response) => {
      if (request.headers['x-upload-token'] === 'tu_1') refuseRotated(response);
      else response.writeHead(404).end();
    },
    systemClock,
    () => Promise.resolve('tu_2'),
  );
  expect(await storage.progress('a', neverAborted)).toEqual({ ok: true, value: null });
});

test('returns a retryable failure when the token was rotated and no new token is available', async () => {
  let calls = 0;
  const storage = await openTestStorage((_request, response) => {
    calls += 1;
    refuseRotated(response);
  });
  const answer = await storage.list(neverAborted);
  expect([answer.ok || decide('upload', answer.failure), calls]).toEqual(['retry', 1]);
});

test.each([
  ['list', 20_000],
  ['progress', 20_000],
  ['report', 20_000],
  ['put', 120_000],
] as const)('gives up on an unanswered %s call after %s ms', async (call, ms) => {
  const waits: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after(wait, run) {
      waits.push(wait);
      return systemClock.after(0, run);
    },
  };
  const storage = await openTestStorage(() => {}, clock);
  const answer = await {
    list: () => storage.list(neverAborted),
    progress: () => storage.progress('a', neverAborted),
    report: () => storage.reportOutstanding({ files: 0, bytes: 0, reason: null }, neverAborted),
    put: () => storage.put('a', { sha256: 'x', body: emptyBody, part: null }, neverAborted),
  }[call]();
  expect(answer.ok).toBe(false);
  expect(waits).toEqual([ms]);
});

test.each([
  ['7', 7_000],
  ['Tue, 24 Nov 2026 12:00:00 GMT', undefined],
])(
  'converts "Retry-After: %s" of a refusal to milliseconds (undefined for a date): %s',
  async (value, retryAfterMs) => {
    const storage = await openTestStorage((_request, response) => {
      response.writeHead(503, { 'retry-after': value }).end();
    });
    expect(await storage.list(neverAborted)).toMatchObject({ ok: false, retryAfterMs });
  },
);
