/** Log downloads that clients do not read, from a server in a separate process. */
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { createShipper } from '../support/log-bench.ts';
import { descriptorsOf, memoryOf } from '../support/own-processes.ts';
import { valueOf } from '../support/server.ts';
import { openRig, startJob } from '../support/upload-bench.ts';
import { adminOf, openServer } from './storage-bench.ts';

const MiB = 1_048_576;
/** Size of the log. It exceeds the buffers of both sockets, so that each download waits for its reader. */
const logBytes = 32 * MiB;
const readers = 300;
const maxDownloads = 32;
/**
 * Maximum growth of memory. 32 downloads took up to 250 MiB, most of it uncollected garbage. Without a limit, 300
 * downloads took 1,000 MiB.
 */
const maxGrowth = 384 * MiB;

/** Starts a download and reads only its status line. */
async function openStalledReader(url: string, path: string, token: string): Promise<[Socket, string]> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const head = await new Promise<string>(resolve =>
    socket.once('data', (part: Buffer) => {
      socket.pause();
      resolve(part.toString('latin1'));
    }),
  );
  return [socket, head];
}

test('limits 300 stalled log downloads to 32, which bounds memory and file descriptors', async () => {
  const server = await openServer();
  const admin = adminOf(server);
  const rig = await openRig({ url: server.url, createWorker: admin.createWorker });
  const job = await startJob(admin, rig);
  const line = `${'x'.repeat(127)}\n`;
  await createShipper(server.url, rig, job).print(line.repeat(logBytes / line.length), true);
  const tokens = await Promise.all(
    Array.from({ length: 5 }, async (_, n) => {
      const body = { name: `reader-${n}`, permissions: ['queue.view' as const] };
      return valueOf(await admin.client.call(tokensApi.create, { body })).token;
    }),
  );
  const before = { memory: memoryOf(server.pid), descriptors: descriptorsOf(server.pid).length };
  const stalledReaders = await Promise.all(
    Array.from({ length: readers }, (_, n) =>
      openStalledReader(server.url, `/api/queue/${job.jobId}/logs/text`, tokens[n % tokens.length] ?? ''),
    ),
  );
  const heads = stalledReaders.map(([, head]) => head);
  expect(heads.filter(head => head.startsWith('HTTP/1.1 200'))).toHaveLength(maxDownloads);
  const refusedHeads = heads.filter(head => head.startsWith('HTTP/1.1 429'));
  expect(refusedHeads).toHaveLength(readers - maxDownloads);
  for (const head of refusedHeads) expect(head).toMatch(/retry-after: \d+/i);
  // The server still answers other clients, and the memory for stalled readers is limited.
  expect((await admin.jobs()).size).toBe(1);
  expect(memoryOf(server.pid) - before.memory).toBeLessThan(maxGrowth);
  // Each reader has a socket, and each download an open file.
  expect(descriptorsOf(server.pid).length - before.descriptors).toBeLessThanOrEqual(
    readers + 2 * maxDownloads,
  );
  for (const [socket] of stalledReaders) socket.destroy();
  await expect
    .poll(() => descriptorsOf(server.pid).length, { timeout: 10_000 })
    .toBeLessThanOrEqual(before.descriptors + 4);
}, 120_000);
