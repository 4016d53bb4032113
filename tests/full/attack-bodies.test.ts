/** Request bodies that try to exhaust the memory of the server or to block it (docs/internals/faults.md, S12). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { scaled } from '../support/attack-scale.ts';
import { memoryOf } from '../support/own-processes.ts';
import { startServer } from '../support/processes.ts';
import { asJson, bearer, sendRaw } from '../support/raw-request.ts';

const MiB = 1_048_576;
const submitPath = '/api/queue/submit';
const gzipBomb = gzipSync(Buffer.alloc(100 * MiB, ' '));

/** Sends a body of undeclared length until the server stops reading. Resolves with the status, or 0 without an answer. */
function pipeBody(url: string, token: string, mebibytes: number): Promise<number> {
  return new Promise(resolve => {
    const [name, value] = bearer(token);
    const { hostname, port } = new URL(url);
    const outgoing = request({
      hostname,
      port,
      path: submitPath,
      method: 'POST',
      headers: { [name]: value, 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    });
    const piece = Buffer.alloc(MiB, 'x');
    let left = mebibytes;
    let status = 0;
    const next = (): void => {
      left -= 1;
      if (left < 0 || outgoing.destroyed) outgoing.end();
      else if (outgoing.write(piece)) setImmediate(next);
      else outgoing.once('drain', next);
    };
    outgoing.once('response', response => {
      status = response.statusCode ?? 0;
      response.resume().once('end', () => resolve(status));
      outgoing.destroy();
    });
    // When the server closes the connection because the body is too large, its answer may be lost.
    outgoing.once('error', () => resolve(status));
    outgoing.write('"');
    next();
  });
}

test("refuses hostile request bodies without growing the server's memory", async () => {
  const server = await startServer();
  onTestFinished(() => server.kill('SIGKILL'));
  const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim();
  const post = async (body: string | Uint8Array, ...more: (readonly [string, string])[]): Promise<number> =>
    (
      await sendRaw(server.url, {
        method: 'POST',
        path: submitPath,
        headers: [bearer(token), asJson, ...more],
        body,
      })
    ).status;
  const bodies: readonly (readonly [what: string, status: number, send: () => Promise<number>])[] = [
    ['a body over the limit', 413, () => post(Buffer.alloc(3 * MiB, 'x'))],
    ['a gzip bomb', 415, () => post(gzipBomb, ['content-encoding', 'gzip'])],
    ['a gzip bomb without its content-encoding', 400, () => post(gzipBomb)],
    ['500,000 nested arrays', 400, () => post('['.repeat(500_000) + ']'.repeat(500_000))],
    ['1,000 nested objects', 400, () => post(`${'{"config":'.repeat(1_000)}1${'}'.repeat(1_000)}`)],
    ['bytes that are not UTF-8', 400, () => post(Buffer.alloc(MiB - 1, 0xff))],
    [
      'keys that name a prototype',
      400,
      () => post('{"__proto__":{"config":{},"config_name":"x"},"constructor":{"prototype":{"x":1}}}'),
    ],
    [
      'an object with 80,000 keys',
      400,
      () => post(`{${Array.from({ length: 80_000 }, (_, n) => `"k${n}":{}`).join()}}`),
    ],
    ['one text of a megabyte', 400, () => post(`"${'\\u0041'.repeat(170_000)}"`)],
  ];
  const sendAllBodies = async (): Promise<void> => {
    for (const [description, status, send] of bodies) {
      const answers = await Promise.all(Array.from({ length: 5 }, send));
      expect([description, answers]).toEqual([description, Array.from({ length: 5 }, () => status)]);
    }
    // The server refuses the body or closes the connection; it never reads the whole body.
    for (const status of await Promise.all(Array.from({ length: 5 }, () => pipeBody(server.url, token, 20))))
      expect([0, 413]).toContain(status);
  };
  await sendAllBodies();
  // Measure after a first round, which loads code and allocates buffers that later rounds reuse.
  const before = memoryOf(server.pid);
  let maxMemory = before;
  const measureTimer = setInterval(() => {
    maxMemory = Math.max(maxMemory, memoryOf(server.pid));
  }, 20);
  onTestFinished(() => clearInterval(measureTimer));
  const rounds = scaled(2);
  for (let n = 0; n < rounds; n += 1) await sendAllBodies();
  expect((maxMemory - before) / MiB).toBeLessThan(150);
  const { status } = await sendRaw(server.url, { path: '/health/ready' });
  expect(status).toBe(200);
  const jobs = await sendRaw(server.url, { path: '/api/queue', headers: [bearer(token)] });
  expect(JSON.parse(jobs.text)).toMatchObject({ entries: [], as_of_seq: 0 });
}, 120_000);
