/**
 * Thousands of invalid tokens and hundreds of streams against a server in a separate process
 * (docs/internals/faults.md, S13).
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { auditApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { scaled } from '../support/attack-scale.ts';
import { startServer, startWorker } from '../support/processes.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';

async function openServer() {
  const server = await startServer(['--heartbeat-timeout', '20']);
  onTestFinished(() => server.kill('SIGKILL'));
  const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim();
  const admin = adminClient(server.url, token);
  const watch = await watchEvents(server.url, token);
  onTestFinished(() => watch.close());
  return { url: server.url, admin, watch, token, ...createShortcuts(admin) };
}

/** Calls with invalid tokens as fast as the server answers, until `isOver` returns true. */
function flood(url: string, concurrency: number, isOver: () => boolean) {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const statuses = new Map<number, number>();
  let tokensTried = 0;
  const sendOne = (): Promise<void> =>
    new Promise((resolve, reject) => {
      tokensTried += 1;
      const isWorker = tokensTried % 2 === 0;
      const headers = isWorker
        ? { 'x-worker-token': `wt_${tokensTried}` }
        : { authorization: `Bearer tk_${tokensTried}` };
      const path = isWorker ? '/api/workers/queue?worker_id=w_x' : '/api/queue';
      request({ hostname, port, path, agent, headers }, response => {
        const { statusCode = 0 } = response;
        statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
        response.resume().once('end', resolve);
      })
        .once('error', reject)
        .end();
    });
  const loop = async (): Promise<void> => {
    while (!isOver()) await sendOne();
  };
  const ended = Promise.all(Array.from({ length: concurrency }, loop)).finally(() => agent.destroy());
  return { statuses, tried: () => tokensTried, ended };
}

test('rate-limits invalid tokens after sixty, and serves valid clients at the same address', async () => {
  const { url, admin, watch, createWorker, submit } = await openServer();
  const { id, token } = await createWorker({ name: 'rig-1' });
  const trainer = `'${process.execPath}' -e ''`;
  startWorker({ url, token, args: ['--persistent', '--trainer', trainer] });
  await watch.worker(id, 'idle');

  const startedAt = performance.now();
  const targetCount = scaled(3_000);
  let jobsDone = 0;
  let isOver = false;
  const attack = flood(url, 16, () => isOver);
  // During the attack, valid clients are still served, and jobs are completed.
  while (attack.tried() < targetCount || jobsDone < 2) {
    const job = await submit({ config: {} });
    expect(await watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    jobsDone += 1;
    valueOf(await admin.call(queueApi.list, {}));
  }
  isOver = true;
  await attack.ended;
  const seconds = (performance.now() - startedAt) / 1_000;

  const { statuses } = attack;
  expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([401, 429]);
  // The server answers sixty invalid tokens with 401 immediately, then one per second, and all others with 429.
  const answeredCount = statuses.get(401) ?? 0;
  expect(answeredCount).toBeGreaterThanOrEqual(60);
  expect(answeredCount).toBeLessThanOrEqual(62 + seconds);
  const query = { event_type: 'auth.*', limit: 500 };
  const { entries } = valueOf(await admin.call(auditApi.list, { query }));
  const types = entries.map(({ event_type: type }) => type);
  expect(types.filter(type => type === 'auth.refused')).toHaveLength(30);
  expect(types.filter(type => type === 'auth.limited')).toHaveLength(1);
  // The worker has not been offline.
  const statusesSeen = watch.seen.flatMap(event =>
    event.kind === 'worker' && event.worker_id === id ? [event.worker?.status] : [],
  );
  expect(statusesSeen).not.toContain('offline');
  console.log(
    `${attack.tried()} wrong tokens in ${seconds.toFixed(1)} s; ${jobsDone} jobs were completed at the same time`,
  );
}, 120_000);

test('limits one token to a hundred event streams, without limiting other tokens', async () => {
  const { url, admin } = await openServer();
  const tokenOf = async (name: string): Promise<string> =>
    valueOf(await admin.call(tokensApi.create, { body: { name, permissions: ['queue.view'] } })).token;
  const [greedyToken, modestToken] = [await tokenOf('greedy'), await tokenOf('modest')];
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const openEventStream = (token: string): Promise<Response> =>
    fetch(`${url}/api/events`, { headers: { authorization: `Bearer ${token}` }, signal: controller.signal });
  const answers = await Promise.all(Array.from({ length: 200 }, () => openEventStream(greedyToken)));
  const counts = Map.groupBy(answers, ({ status }) => status);
  expect([counts.get(200)?.length, counts.get(429)?.length]).toEqual([100, 100]);
  const refusal: unknown = await counts.get(429)?.[0]?.json();
  expect(refusal).toMatchObject({ code: 'too_many_streams' });
  expect((await openEventStream(modestToken)).status).toBe(200);
  valueOf(await admin.call(queueApi.list, {}));
}, 120_000);
