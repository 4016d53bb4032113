import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { Call } from '../../../protocol/call.ts';
import { urlOf } from '../../../protocol/client.ts';
import { everyCall as rows } from '../../support/every-call.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, startJob } from '../../support/upload-bench.ts';

let server: TestServer;
let workerToken: string;
let joinToken: string;
let uploadToken: string;
beforeAll(async () => {
  // Limit no failed calls, because these tests send a thousand invalid tokens from one address.
  server = await startTestServer({ failureLimit: { note: () => 'count' } });
  workerToken = (await server.createWorker({ name: 'rig-1' })).token;
  const { id } = await server.createWorker({ name: 'rig-joining' });
  const issuedToken = await server.admin.call(workersApi.createJoinToken, { params: { id } });
  joinToken = valueOf(issuedToken).join_token;
  const job = await startJob(server, await openRig(server, 'rig-training'));
  uploadToken = job.token;
});
afterAll(() => server.close());

const send = (row: Call, headers: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(
    urlOf(server.url, row.path, { id: 'x', name: 'x', bucket: 'outputs', key: 'x' }, { worker_id: 'w_x' }),
    {
      method: row.method,
      headers,
      signal: AbortSignal.timeout(5_000),
    },
  );

const readRefusal = async (response: Response): Promise<readonly [number, unknown, string | null]> => {
  const body = (await response.json()) as { readonly code: unknown };
  return [response.status, body.code, response.headers.get('content-type')];
};
const problem = (status: number, code: string) => [status, code, 'application/problem+json; charset=utf-8'];

const protectedCalls = rows.filter(({ authority }) => authority !== 'open');
const forWorkers = protectedCalls.filter(({ authority }) => authority === 'worker');
const forJoining = protectedCalls.filter(({ authority }) => authority === 'join');
const forTrainers = protectedCalls.filter(({ authority }) => authority === 'upload');
const forMachines = [...forWorkers, ...forJoining, ...forTrainers];
const forPeople = protectedCalls.filter(row => !forMachines.includes(row));
const callName = ({ method, path }: Call): string => `${method} ${path}`;

describe('authority of every call', () => {
  test('serves only the listed calls without a token', () => {
    expect(rows.filter(({ authority }) => authority === 'open').map(callName)).toEqual([
      'GET /agent/manifest.json',
      'GET /agent/SHA256SUMS',
      'GET /agent/install.sh',
      'GET /join',
      'GET /agent/trainyard-worker.mjs',
      'GET /agent/trainyard-worker-linux-x64',
      'GET /agent/trainyard-worker-linux-arm64',
      'GET /agent/trainyard-worker-darwin-arm64',
      'GET /agent/trainyard-worker-win32-x64.exe',
      'GET /api/session',
      'POST /api/session',
      'DELETE /api/session',
      'GET /openapi.json',
      'POST /api/prove',
      'GET /health/live',
      'GET /health/ready',
      'GET /api/version',
      'GET /api/cloud/health/live',
      'GET /api/cloud/health/ready',
    ]);
    expect(new Set(rows.map(callName)).size).toBe(rows.length);
  });

  test.each(protectedCalls.map(row => [callName(row), row] as const))(
    'requires a token for %s',
    async (_, row) => {
      expect(await readRefusal(await send(row, {}))).toEqual(problem(401, 'token_missing'));
    },
  );

  const invalidTokens = ['wt_wrong', 'x'.repeat(8_000), 'Bearer', ' ', '\u00e9', "' OR 1=1 --"];
  test.each(protectedCalls.map(row => [callName(row), row] as const))(
    'refuses an invalid token for %s',
    async (_, row) => {
      for (const token of invalidTokens) {
        const header: Record<string, string> = forPeople.includes(row)
          ? { authorization: `Bearer ${token}` }
          : { [forTrainers.includes(row) ? 'x-upload-token' : 'x-worker-token']: token };
        const [status, code] = await readRefusal(await send(row, header));
        const expectedCode = row.authority === 'join' ? 'join_token_invalid' : 'token_invalid';
        expect([status, code === expectedCode || code === 'token_missing']).toEqual([401, true]);
      }
    },
  );

  test.each(forPeople.map(row => [callName(row), row] as const))(
    'refuses a worker token for the user call %s',
    async (_, row) => {
      const asHeader = await send(row, { 'x-worker-token': workerToken });
      expect(await readRefusal(asHeader)).toEqual(problem(403, 'wrong_token_kind'));
      const asBearer = await send(row, { authorization: `Bearer ${workerToken}` });
      expect(await readRefusal(asBearer)).toEqual(problem(403, 'wrong_token_kind'));
    },
  );

  test.each(forWorkers.map(row => [callName(row), row] as const))(
    'refuses an admin token for the worker call %s',
    async (_, row) => {
      const asBearer = await send(row, { authorization: `Bearer ${server.adminToken}` });
      expect(await readRefusal(asBearer)).toEqual(problem(403, 'wrong_token_kind'));
      const asHeader = await send(row, { 'x-worker-token': server.adminToken });
      expect(await readRefusal(asHeader)).toEqual(problem(401, 'token_invalid'));
    },
  );

  test.each(forWorkers.map(row => [callName(row), row] as const))(
    'refuses a join token for the worker call %s',
    async (_, row) => {
      expect(await readRefusal(await send(row, { 'x-worker-token': joinToken }))).toEqual(
        problem(401, 'token_invalid'),
      );
    },
  );

  test.each(forPeople.map(row => [callName(row), row] as const))(
    'refuses a join token for the user call %s',
    async (_, row) => {
      expect(await readRefusal(await send(row, { 'x-worker-token': joinToken }))).toEqual(
        problem(403, 'wrong_token_kind'),
      );
      expect(await readRefusal(await send(row, { authorization: `Bearer ${joinToken}` }))).toEqual(
        problem(401, 'token_invalid'),
      );
    },
  );

  test.each(forTrainers.map(row => [callName(row), row] as const))(
    'refuses admin, worker and join tokens for the upload call %s',
    async (_, row) => {
      const adminHeader = { authorization: `Bearer ${server.adminToken}` };
      expect(await readRefusal(await send(row, adminHeader))).toEqual(problem(403, 'wrong_token_kind'));
      const workerHeader = { 'x-worker-token': workerToken };
      expect(await readRefusal(await send(row, workerHeader))).toEqual(problem(403, 'wrong_token_kind'));
      for (const token of [workerToken, server.adminToken, joinToken])
        expect(await readRefusal(await send(row, { 'x-upload-token': token }))).toEqual(
          problem(401, 'token_invalid'),
        );
    },
  );

  test.each(forPeople.map(row => [callName(row), row] as const))(
    'refuses an upload token for the user call %s',
    async (_, row) => {
      const asBearer = { authorization: `Bearer ${uploadToken}` };
      expect(await readRefusal(await send(row, asBearer))).toEqual(problem(401, 'token_invalid'));
      const asHeader = { 'x-upload-token': uploadToken };
      expect(await readRefusal(await send(row, asHeader))).toEqual(problem(401, 'token_missing'));
    },
  );

  test.each(forWorkers.map(row => [callName(row), row] as const))(
    'refuses an upload token for the worker call %s',
    async (_, row) => {
      const asHeader = { 'x-worker-token': uploadToken };
      expect(await readRefusal(await send(row, asHeader))).toEqual(problem(401, 'token_invalid'));
    },
  );

  test.each(forJoining.map(row => [callName(row), row] as const))(
    'refuses admin tokens, worker tokens and any bearer token for the join call %s',
    async (_, row) => {
      const asBearer = await send(row, { authorization: `Bearer ${server.adminToken}` });
      expect(await readRefusal(asBearer)).toEqual(problem(403, 'wrong_token_kind'));
      const joinAsBearer = await send(row, { authorization: `Bearer ${joinToken}` });
      expect(await readRefusal(joinAsBearer)).toEqual(problem(403, 'wrong_token_kind'));
      const asHeader = await send(row, { 'x-worker-token': server.adminToken });
      expect(await readRefusal(asHeader)).toEqual(problem(401, 'join_token_invalid'));
      const asWorker = await send(row, { 'x-worker-token': workerToken });
      expect(await readRefusal(asWorker)).toEqual(problem(403, 'wrong_token_kind'));
    },
  );
});

describe('worker tokens', () => {
  test('refuses the token of another worker', async () => {
    const other = await server.createWorker({ name: 'rig-2' });
    const headers = { 'x-worker-token': workerToken, 'content-type': 'application/json' };
    const stream = await fetch(`${server.url}/api/workers/stream?worker_id=${other.id}`, { headers });
    expect(await readRefusal(stream)).toEqual(problem(403, 'not_your_worker'));
    const heartbeat = await fetch(`${server.url}/api/workers/heartbeat`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ worker_id: other.id, status: 'idle' }),
    });
    expect(await readRefusal(heartbeat)).toEqual(problem(403, 'not_your_worker'));
  });

  test("closes a worker's stream when the worker's token is rotated, and then refuses the old token", async () => {
    const { id, token } = await server.createWorker({ name: 'rig-3' });
    const register = (): Promise<Response> =>
      fetch(`${server.url}/api/workers/register`, {
        method: 'POST',
        headers: { 'x-worker-token': token, 'content-type': 'application/json' },
        body: '{"gpu_count": 1, "gpu_name": "A100", "gpu_vram_gb": 80, "accelerator_type": "cuda"}',
      });
    expect((await register()).status).toBe(200);
    const stream = await fetch(`${server.url}/api/workers/stream?worker_id=${id}`, {
      headers: { 'x-worker-token': token },
    });
    const streamText = stream.text();
    const answer = await server.admin.call(workersApi.rotateToken, { params: { id } });
    expect(answer.ok).toBe(true);
    expect(await streamText).toContain(': open');
    expect(await readRefusal(await register())).toEqual(problem(401, 'token_invalid'));
  });

  test('never shows or stores a token in plain text', async () => {
    const { token } = await server.createWorker({ name: 'rig-4' });
    const { readFile } = await import('node:fs/promises');
    const listJson = JSON.stringify(await server.admin.call(workersApi.list, {}));
    const databaseTexts = await Promise.all(
      ['trainyard.db', 'trainyard.db-wal'].map(file => readFile(`${server.dataDir}/${file}`, 'latin1')),
    );
    for (const text of [listJson, ...databaseTexts, server.log.join('\n')]) expect(text).not.toContain(token);
  });
});
