/** All files of a completed job reach the server, although faults interrupt the uploads. Uses real processes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { artifactsApi } from '../../protocol/artifacts-api.ts';
import type { JobId } from '../../protocol/ids.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { type Failpoint, failpoint, failpointLine, orderSignal } from '../support/failpoint.ts';
import { startChaosProxy } from '../support/chaos-proxy.ts';
import { startWorker, temporaryFolder } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';
import { adminOf, canMount, mountDisk, needsMount, openServer } from './storage-bench.ts';

const config = {};

/** Returns the environment for a program that loads the failpoint, which injects a fault (tests/support/failpoint.ts). */
const withFailpoint = ({ preload, env }: Failpoint) => ({ ...env, NODE_OPTIONS: `--import ${preload}` });

/** Starts a server, a proxy, and a rig that connects through the proxy. Server and agent load `sharedFailpoint`. */
async function openFleet(dataDir: string, args: readonly string[], sharedFailpoint: Failpoint | null = null) {
  const env = sharedFailpoint === null ? {} : withFailpoint(sharedFailpoint);
  let server = await openServer(dataDir, args, { env });
  const admin = adminOf(server);
  const watch = await watchEvents(server.url, admin.token);
  onTestFinished(() => watch.close());
  const proxy = await startChaosProxy(() => server.url);
  onTestFinished(() => proxy.close());
  const gateFile = join(temporaryFolder(), 'go');
  // The trainer uploads nothing itself, and ends when the test calls `endTrainer`.
  const trainer = `sh -c "until [ -e ${gateFile} ]; do sleep 0.1; done; echo whole > '{output_dir}/model.safetensors'"`;
  const { id: worker, token } = await admin.createWorker({ name: 'rig-1' });
  const agent = startWorker({
    url: proxy.url,
    env,
    token,
    args: ['--name', 'rig-1', '--persistent', '--trainer', trainer],
    stateHome: temporaryFolder(),
  });
  await watch.worker(worker, 'idle');
  const outstanding = async (id: JobId) =>
    valueOf(await admin.client.call(queueApi.get, { params: { id } })).outstanding;
  const keys = async (id: JobId): Promise<readonly string[]> =>
    valueOf(await admin.client.call(artifactsApi.list, { params: { id }, query: {} })).artifacts.map(
      ({ key }) => key,
    );
  /** Kills the server, and starts it again on the same port. */
  const restart = async (clockShift: Failpoint, more: readonly string[]) => {
    server.kill('SIGKILL');
    await server.exited;
    const port = new URL(server.url).port;
    server = await openServer(dataDir, ['--port', port, ...args, ...more], {
      env: withFailpoint(clockShift),
    });
  };
  /** Shifts the clocks of the server and the rig to this many ms ahead of the real time. Needs a failpoint in both programs. */
  const shiftClocks = async (ms: number) => {
    writeFileSync(sharedFailpoint?.env['TRAINYARD_TEST_FAILPOINT'] ?? '', String(ms));
    for (const program of [server, agent]) {
      program.kill(orderSignal);
      await program.waitForLine(new RegExp(`^${failpointLine(String(ms))}$`));
    }
  };
  return {
    admin,
    watch,
    proxy,
    outstanding,
    keys,
    restart,
    shiftClocks,
    endTrainer: () => writeFileSync(gateFile, ''),
  };
}

const pollOptions = { timeout: 60_000, interval: 200 } as const;

test.runIf(canMount)(
  `reports outstanding files while the server's disk is full, and uploads them once there is space${needsMount}`,
  async () => {
    const disk = mountDisk(64 * 1_024);
    const { admin, watch, outstanding, keys, endTrainer } = await openFleet(disk.path, [
      '--disk-reserve',
      '0.03',
    ]);
    disk.fillBut(20_000);
    const id = await admin.submit({ config });
    endTrainer();
    await watch.jobEnd(id);
    await expect
      .poll(() => outstanding(id), pollOptions)
      .toMatchObject({
        files: 1,
        reason: expect.stringContaining('disk') as unknown,
      });
    expect(await keys(id)).toEqual([]);
    disk.free();
    await expect.poll(() => outstanding(id), pollOptions).toBeNull();
    expect(await keys(id)).toContain('model.safetensors');
  },
  120_000,
);

test('accepts a late final report after a partition that outlasts the takeover, and receives every file', async () => {
  const { admin, watch, proxy, outstanding, keys, endTrainer } = await openFleet(temporaryFolder(), [
    '--heartbeat-timeout',
    '4',
    '--disk-reserve',
    '0',
  ]);
  const id = await admin.submit({ config });
  await watch.job(id, 'running');
  const reconnect = proxy.rule({ call: '/api/workers/', action: 'reset' });
  proxy.cut();
  await watch.job(id, 'pending');
  endTrainer();
  // The server refuses uploads until it has received the final report.
  await proxy.waitFor('a refused upload', () =>
    proxy.calls('/api/cloud/storage').find(({ answer }) => answer?.status === 401),
  );
  reconnect();
  await watch.jobEnd(id);
  await expect.poll(() => outstanding(id), pollOptions).toBeNull();
  expect(await keys(id)).toContain('model.safetensors');
}, 120_000);

const elevenMinutes = 11 * 60_000;

test("receives every file after the server was down for 11 minutes right after the job's end", async () => {
  const { admin, watch, proxy, outstanding, keys, endTrainer, restart } = await openFleet(temporaryFolder(), [
    '--disk-reserve',
    '0',
  ]);
  const id = await admin.submit({ config });
  await watch.job(id, 'running');
  const reconnect = proxy.rule({ call: '/api/cloud/storage', action: 'reset' });
  endTrainer();
  await watch.jobEnd(id);
  const clockShift = failpoint(
    new URL('../support/failpoint-later.ts', import.meta.url),
    String(elevenMinutes),
  );
  // The test simulates a real downtime, so `--trust-clock` tells the server that its clock is right.
  await restart(clockShift, ['--trust-clock']);
  expect(await keys(id)).toEqual([]);
  reconnect();
  await expect.poll(() => outstanding(id), pollOptions).toBeNull();
  expect(await keys(id)).toContain('model.safetensors');
}, 120_000);

test("loses no file when the clocks of server and rig jump 11 minutes right after the job's end", async () => {
  const order = join(temporaryFolder(), 'order');
  const clock = failpoint(new URL('../support/failpoint-clock.ts', import.meta.url), order);
  const { admin, watch, proxy, outstanding, keys, endTrainer, shiftClocks } = await openFleet(
    temporaryFolder(),
    ['--disk-reserve', '0'],
    clock,
  );
  const id = await admin.submit({ config });
  await watch.job(id, 'running');
  const reconnect = proxy.rule({ call: '/api/cloud/storage', action: 'reset' });
  endTrainer();
  await watch.jobEnd(id);
  await shiftClocks(elevenMinutes);
  reconnect();
  await expect.poll(() => outstanding(id), pollOptions).toBeNull();
  expect(await keys(id)).toContain('model.safetensors');
}, 120_000);
