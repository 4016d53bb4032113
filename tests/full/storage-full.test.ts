/** When the disk is full or fails while jobs run, no acknowledged data is lost and no worker goes offline. */
import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { workerApi } from '../../protocol/worker-api.ts';
import { createClient } from '../../protocol/client.ts';
import { type ServerProgram, startWorker } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';
import { adminOf, canMount, mountDisk, needsMount, openServer, postJob, stop } from './storage-bench.ts';

/** A short heartbeat timeout. A worker whose heartbeats failed would go offline during the outage. */
const shortTimeoutFlags = ['--heartbeat-timeout', '4'];

/** Submits jobs until the disk refuses one. Resolves with the ids of the accepted jobs and the refusal. */
async function submitUntilRefused(server: ServerProgram, token: string, config: object) {
  const acceptedJobs: string[] = [];
  for (;;) {
    const response = await postJob(server.url, token, config);
    if (response.status !== 200) return { acceptedJobs, refusal: response };
    acceptedJobs.push(((await response.json()) as { readonly job_id: string }).job_id);
  }
}

async function expectStorageProblem(refusal: Response): Promise<void> {
  expect([refusal.status, refusal.headers.get('retry-after')]).toEqual([507, '1']);
  expect(await refusal.json()).toMatchObject({ code: 'storage', status: 507 });
}

/** Interval between heartbeats in ms. */
const heartbeatMs = 500;

/** Starts a worker that only sends heartbeats, until the test ends. */
async function startHeartbeats(server: ServerProgram, token: string) {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const headers = () => ({ 'x-worker-token': token });
  const client = createClient({ baseUrl: server.url, headers, timeoutMs: 5_000 });
  const registration = { name: 'rig-2', protocol: 2, instance_id: 'i-2', persistent: true };
  valueOf(await client.call(workerApi.register, { body: registration }));
  let answered = 0;
  const refused: unknown[] = [];
  const counted = new EventEmitter();
  const sendHeartbeat = async (): Promise<void> => {
    for await (const _ of setInterval(heartbeatMs, null, { signal: controller.signal })) {
      const result = await client.call(workerApi.heartbeat, { body: { status: 'idle' } });
      if (result.ok) answered++;
      else refused.push(result.failure);
      counted.emit('beat');
    }
  };
  sendHeartbeat().catch((cause: unknown) => {
    if (!controller.signal.aborted) refused.push(cause);
  });
  return {
    refused,
    /** Resolves after this number of further successful heartbeats, or at the first failed one. */
    async waitForMore(count: number): Promise<void> {
      const until = answered + count;
      while (answered < until && refused.length === 0) await once(counted, 'beat');
    },
  };
}

describe.skipIf(!canMount)(`a full disk${needsMount}`, () => {
  test('refuses submissions on a full disk, keeps workers online, answers reads, and recovers with space', {
    timeout: 90_000,
  }, async () => {
    const disk = mountDisk(6_144);
    const server = await openServer(join(disk.path, 'data'), shortTimeoutFlags);
    const { token, client, createWorker, submit, jobs } = adminOf(server);
    const watch = await watchEvents(server.url, token);
    onTestFinished(() => watch.close());
    const rig = await createWorker({ name: 'rig-1' });
    const agent = startWorker({
      url: server.url,
      token: rig.token,
      args: ['--name', 'rig-1', '--persistent'],
    });
    onTestFinished(() => agent.kill('SIGKILL'));
    await watch.worker(rig.id, 'idle');
    const second = await createWorker({ name: 'rig-2' });
    const heartbeats = await startHeartbeats(server, second.token);
    const running = await submit({ config: { trainer: 'selftest', seconds: 3 } });
    await watch.job(running, 'running');

    disk.fill();
    const { acceptedJobs, refusal } = await submitUntilRefused(server, token, {
      trainer: 'selftest',
      seconds: 0.1,
    });
    await expectStorageProblem(refusal);
    await expectStorageProblem(await postJob(server.url, token, {}));
    await server.waitForLine(/"event":"store\.refusing"/);

    // The outage lasts longer than the heartbeat timeout. During it, the trainer of the job ends. The worker repeats its
    // final report, which is answered with 507.
    for (let seconds = 0; seconds < 5; seconds++) {
      await heartbeats.waitForMore(1_000 / heartbeatMs);
      expect((await client.call(queueApi.get, { params: { id: running } })).ok).toBe(true);
      await expectStorageProblem(await postJob(server.url, token, {}));
    }

    disk.free();
    await server.waitForLine(/"event":"store\.recovered"/);
    expect(await watch.jobEnd(running)).toMatchObject({ status: 'completed', attempt: 1 });
    const after = await submit({ config: { trainer: 'selftest', seconds: 0.1 } });
    for (const id of [...acceptedJobs, after]) {
      expect(await watch.jobEnd(id as typeof after)).toMatchObject({ status: 'completed' });
    }
    expect(await jobs()).toEqual(new Set([running, ...acceptedJobs, after]));
    // No heartbeat was refused, and no worker went offline.
    expect(heartbeats.refused).toEqual([]);
    const offlineEvents = watch.seen.filter(
      event => event.kind === 'worker' && event.type === 'worker.offline',
    );
    expect(offlineEvents).toEqual([]);
    // The log reports the outage once, and not for each call.
    const events = server.lines.flatMap(line => /"event":"([^"]+)"/.exec(line)?.[1] ?? []);
    expect(events.filter(event => event.startsWith('store.'))).toEqual(['store.refusing', 'store.recovered']);
    expect(events).not.toContain('http.failed');
  });

  test('keeps every acknowledged job when the server is killed on a full disk', {
    timeout: 60_000,
  }, async () => {
    const disk = mountDisk(6_144);
    const dataDir = join(disk.path, 'data');
    const first = await openServer(dataDir);
    const { token } = adminOf(first);
    disk.fill();
    const { acceptedJobs, refusal } = await submitUntilRefused(first, token, {
      text: 'x'.repeat(3_000),
    });
    await expectStorageProblem(refusal);
    first.kill('SIGKILL');
    await first.exited;
    disk.free();
    const second = await openServer(dataDir);
    expect(await adminOf(second).jobs()).toEqual(new Set(acceptedJobs));
  });

  test('skips a backup that would fill the disk', { timeout: 60_000 }, async () => {
    const disk = mountDisk(8_192);
    const dataDir = join(disk.path, 'data');
    const first = await openServer(dataDir);
    for (let n = 0; n < 20; n++) {
      await adminOf(first).submit({ config: { text: 'x'.repeat(60_000) } });
    }
    await stop(first);
    disk.fillBut(1_500);
    const second = await openServer(dataDir);
    const [line] = await second.waitForLine(/.*"event":"backup\.failed".*/);
    expect(line).toContain('needs');
    await adminOf(second).submit({ config: {} });
  });
});

/** A limit on file sizes causes I/O errors like those of a failing disk. It needs no permission to mount. */
describe.skipIf(process.platform !== 'linux')('a failing disk', () => {
  test('refuses submissions on I/O errors, still answers reads, and recovers when writes work again', {
    timeout: 60_000,
  }, async () => {
    const server = await openServer();
    const { token, submit, client } = adminOf(server);
    await submit({ config: {} });
    execFileSync('prlimit', ['--pid', String(server.pid), '--fsize=1024:unlimited']);
    const { acceptedJobs, refusal } = await submitUntilRefused(server, token, {});
    await expectStorageProblem(refusal);
    expect(acceptedJobs).toEqual([]);
    expect((await client.call(queueApi.list, { query: {} })).ok).toBe(true);
    const [line] = await server.waitForLine(/.*"event":"store\.refusing".*/);
    expect(line).toContain('disk I/O error');
    execFileSync('prlimit', ['--pid', String(server.pid), '--fsize=unlimited:unlimited']);
    await server.waitForLine(/"event":"store\.recovered"/);
    await submit({ config: {} });
    expect(valueOf(await client.call(queueApi.list, { query: {} })).entries).toHaveLength(2);
  });
});
