/** Reads any part of a log of a million lines quickly, without the whole log in memory. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemApi } from '../../protocol/admin-api.ts';
import { logsApi } from '../../protocol/logs-api.ts';
import { createShipper, openLogStream, readLog, textsOf } from '../support/log-bench.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { openRig, type JobOffer, startJob } from '../support/upload-bench.ts';

const lines = 1_000_000;
const lineOf = (n: number): string =>
  `2026-01-02 03:04:05 INFO step=${n} loss=0.${String((n * 7_919) % 10_000).padStart(4, '0')} lr=1e-4 epoch=3 gpu=0 speed=11.5 it/s`;
/**
 * Maximum duration of a read in ms. A single read is much faster; reading the whole log each time would be much slower.
 */
const maxReadMs = 3_000;
/** Maximum additional memory in bytes. The log has about 90 MB. */
const maxMemory = 32 * 2 ** 20;

let server: TestServer;
let job: JobOffer;
beforeAll(async () => {
  server = await startTestServer();
  const rig = await openRig(server);
  job = await startJob(server, rig);
  const shipper = createShipper(server.url, rig, job);
  for (let n = 0; n < lines; n += 10_000) {
    const batch = Array.from({ length: 10_000 }, (_, k) => `${lineOf(n + k)}\n`);
    await shipper.print(batch.join(''), n + 10_000 === lines);
  }
}, 120_000);
afterAll(() => server.close());

const withinLimit = async <T>(action: () => Promise<T>): Promise<T> => {
  const startedAt = performance.now();
  const answer = await action();
  expect(performance.now() - startedAt).toBeLessThan(maxReadMs);
  return answer;
};
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Returns the memory in use after a garbage collection. */
const usedMemory = (): number => {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
/** Returns the maximum additional memory while `action` runs. */
async function memoryOf(action: () => Promise<unknown>): Promise<number> {
  const before = usedMemory();
  let maxUsed = before;
  // Each measurement collects garbage, which takes time, so measure only every 400 ms.
  const measure = (): void => {
    maxUsed = Math.max(maxUsed, usedMemory());
    timer = setTimeout(measure, 400);
  };
  let timer = setTimeout(measure, 200);
  await action();
  clearTimeout(timer);
  return maxUsed - before;
}

test('reads any lines and the last lines of a log of a million lines within 3 seconds', async () => {
  for (const line of [900_000, 1, 499_999, 999_000]) {
    const page = await withinLimit(() => readLog(server, job.jobId, { line, limit: 3 }));
    expect(textsOf(page)).toEqual([lineOf(line), lineOf(line + 1), lineOf(line + 2)]);
  }
  const page = await withinLimit(() => readLog(server, job.jobId, { limit: 2 }));
  expect(page).toMatchObject({ total_lines: lines, is_complete: true });
  expect(textsOf(page)).toEqual([lineOf(lines - 2), lineOf(lines - 1)]);
});

test('searches a log of a million lines with bounded memory, without blocking other calls', async () => {
  const search = (q: string) =>
    server.admin.call(logsApi.search, { params: { id: job.jobId }, query: { q, limit: 2 } });
  const order: string[] = [];
  const used = await memoryOf(async () => {
    const searching = search('STEP=77777').then(answer => {
      order.push('search');
      return valueOf(answer);
    });
    await server.admin.call(systemApi.live);
    order.push('live');
    const found = await searching;
    expect(found.total_matches).toBe(11);
    expect(textsOf({ lines: found.matches })).toEqual([lineOf(77_777), lineOf(777_770)]);
  });
  expect(order).toEqual(['live', 'search']);
  expect(used).toBeLessThan(maxMemory);
  expect(valueOf(await search('epoch=3')).total_matches).toBe(lines);
});

test('allows four concurrent log searches, and ends a search when its client disconnects', async () => {
  const controller = new AbortController();
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const searchStatus = (signal: AbortSignal): Promise<number> =>
    fetch(`${server.url}/api/queue/${job.jobId}/logs/search?q=epoch`, { headers, signal }).then(
      ({ status }) => status,
      () => 0,
    );
  const first = Array.from({ length: 4 }, () => searchStatus(controller.signal));
  await expect
    .poll(() => searchStatus(AbortSignal.timeout(10_000)), { interval: 1, timeout: 10_000 })
    .toBe(429);
  controller.abort();
  expect(await Promise.all(first)).toEqual([0, 0, 0, 0]);
  await expect.poll(() => searchStatus(AbortSignal.timeout(20_000)), { timeout: 20_000 }).toBe(200);
});

test('downloads and follows a log of a million lines with bounded memory', async () => {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  let bytes = 0;
  const download = await memoryOf(async () => {
    const answer = await fetch(`${server.url}/api/queue/${job.jobId}/logs/text`, { headers });
    for await (const part of answer.body ?? []) bytes += Buffer.from(part).length;
  });
  expect(bytes).toBe((await readLog(server, job.jobId, { limit: 1 })).bytes);
  expect(download).toBeLessThan(maxMemory);
  const stream = await openLogStream(server, job.jobId, '?line=990000');
  await stream.end();
  expect(stream.lines().map(({ line }) => line)).toEqual(
    Array.from({ length: 10_000 }, (_, n) => 990_000 + n),
  );
}, 60_000);
