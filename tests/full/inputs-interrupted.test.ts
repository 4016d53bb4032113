/** Interrupted downloads of input files, with a real server, real workers and a simple trainer. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listStoredFiles, createInputRig } from '../support/input-rig.ts';
import { startServer } from '../support/processes.ts';
import { adminClient, createShortcuts, startTestServer } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';
import { until } from '../unit/agent/guard-rig.ts';

const manyFiles = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`weights/${n}.bin`, 100_000]));
const countWeightFiles = (names: readonly string[]): number =>
  names.filter(name => name.endsWith('.bin')).length;

test('continues the download of an input after the worker was killed during the download', async () => {
  const server = await startTestServer({ heartbeatTimeoutMs: 6_000 });
  onTestFinished(() => server.close());
  const rig = await createInputRig('rig-1', server);
  const program = rig.start();
  const parent = await server.submit({ name: 'base', config: { files: manyFiles } });
  expect(await server.watch.jobEnd(parent)).toMatchObject({ status: 'completed' });
  const child = await server.submit({
    config: { takes: '{{inputs.lora}}' },
    inputs: [{ name: 'lora', from: parent, file: 'weights' }],
  });
  await until(() => Promise.resolve(countWeightFiles(rig.inputs(child)) > 20 ? true : null), 60_000);
  program.kill('SIGKILL');
  await program.exited;
  const filesBeforeRestart = countWeightFiles(rig.inputs(child));
  expect(filesBeforeRestart).toBeLessThan(150);
  const restarted = rig.start();
  expect(await server.watch.jobEnd(child)).toMatchObject({ status: 'completed' });
  const stored = await listStoredFiles(parent, server.admin);
  expect(rig.seen(child)).toEqual(
    Object.fromEntries(Object.keys(manyFiles).map(key => [key.slice('weights/'.length), stored[key]])),
  );
  const [, fetchedMegabytes] = await restarted.waitForLine(/Inputs: lora \(weights\), ([\d.]+) MB fetched/);
  expect(Number(fetchedMegabytes)).toBeLessThanOrEqual(15 - (filesBeforeRestart - 1) * 0.1 + 0.1);
}, 120_000);

test('delivers an input completely when the server is killed during the download', async () => {
  const first = await startServer();
  onTestFinished(() => first.kill('SIGKILL'));
  const tokenOf = (): string => readFileSync(join(first.dataDir, 'admin-token'), 'utf8').trim();
  const admin = adminClient(first.url, tokenOf());
  const { createWorker, submit } = createShortcuts(admin);
  const rig = await createInputRig('rig-1', { url: first.url, createWorker });
  rig.start();
  const watch = await watchEvents(first.url, tokenOf());
  const parent = await submit({ name: 'base', config: { files: manyFiles } });
  const child = await submit({
    config: { takes: '{{inputs.lora}}' },
    inputs: [{ name: 'lora', from: parent, file: 'weights' }],
  });
  expect(await watch.jobEnd(parent)).toMatchObject({ status: 'completed' });
  await until(() => Promise.resolve(countWeightFiles(rig.inputs(child)) > 20 ? true : null), 60_000);
  first.kill('SIGKILL');
  await first.exited;
  expect(countWeightFiles(rig.inputs(child))).toBeLessThan(150);
  const second = await startServer(['--port', new URL(first.url).port], first.dataDir);
  onTestFinished(() => second.kill('SIGKILL'));
  const watchAfterRestart = await watchEvents(second.url, tokenOf());
  onTestFinished(() => watchAfterRestart.close());
  expect(await watchAfterRestart.jobEnd(child)).toMatchObject({ status: 'completed', attempt: 1 });
  const stored = await listStoredFiles(parent, admin);
  expect(rig.seen(child)).toEqual(
    Object.fromEntries(Object.keys(manyFiles).map(key => [key.slice('weights/'.length), stored[key]])),
  );
}, 120_000);
