import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import {
  type Program,
  type ServerProgram,
  startServer,
  startWorker,
  temporaryFolder,
} from '../support/processes.ts';
import { adminClient, createShortcuts, startTestServer, valueOf } from '../support/server.ts';
import { watchEvents } from '../support/watch.ts';

const pidOf = async (worker: Program, word: 'runs' | 'goes on'): Promise<string> =>
  (await worker.waitForLine(new RegExp(`^Job .* ${word}: .*\\(pid (\\d+)\\)`)))[1] ?? '';

/** Creates a trainer that runs until `open` is called. */
function makeGatedTrainer(): { readonly args: readonly string[]; open(): void } {
  const folder = temporaryFolder();
  const script = join(folder, 'trainer.cjs');
  const gate = join(folder, 'enough');
  const exitWhenOpen = `require('node:fs').existsSync(${JSON.stringify(gate)}) && process.exit(0)`;
  writeFileSync(script, `setInterval(() => ${exitWhenOpen}, 20)`);
  const args = ['--name', 'rig-1', '--persistent', '--trainer', `'${process.execPath}' '${script}'`];
  return { args, open: () => writeFileSync(gate, '') };
}

async function openServer(port = 0, dataDir = temporaryFolder()) {
  const server: ServerProgram = await startServer(['--port', String(port)], dataDir);
  onTestFinished(() => server.kill('SIGKILL'));
  const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim();
  const client = adminClient(server.url, token);
  return { server, client, watch: () => watchEvents(server.url, token), ...createShortcuts(client) };
}

test('continues the same training after server and worker are killed, and completes it once', async () => {
  const first = await openServer();
  const { token } = await first.createWorker({ name: 'rig-1' });
  const [stateHome, trainer] = [temporaryFolder(), makeGatedTrainer()];
  const start = (): Program => startWorker({ url: first.server.url, token, args: trainer.args, stateHome });
  const agent = start();
  await agent.waitForLine(/^Connected/);
  const job = await first.submit({ config: {} });
  const pid = await pidOf(agent, 'runs');
  first.server.kill('SIGKILL');
  agent.kill('SIGKILL');
  await Promise.all([first.server.exited, agent.exited]);

  const second = await openServer(Number(new URL(first.server.url).port), first.server.dataDir);
  const watch = await second.watch();
  onTestFinished(() => watch.close());
  const restarted = start();
  expect(await pidOf(restarted, 'goes on')).toBe(pid);
  trainer.open();
  expect(await watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  const { attempts } = valueOf(await second.client.call(queueApi.get, { params: { id: job } }));
  expect(attempts).toMatchObject([{ attempt: 1, outcome: 'completed', exit_code: 0 }]);
}, 30_000);

test('continues a job through a token rotation when the token file gets the new token', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, token, { mode: 0o600 });
  const trainer = makeGatedTrainer();
  const args = [...trainer.args, '--worker-token-file', file];
  const agent = startWorker({ url: server.url, token: '', args });
  await agent.waitForLine(/^Connected/);
  const job = await server.submit({ config: {} });
  await server.watch.job(job, 'running');
  const rotated = valueOf(await server.admin.call(workersApi.rotateToken, { params: { id }, body: {} }));
  await agent.waitForLine(/^The orchestrator rejected the token/);
  writeFileSync(file, rotated.token);
  trainer.open();
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(agent.lines.filter(line => /^Job .* runs/.test(line))).toHaveLength(1);
}, 30_000);

test('refuses a second machine with the same worker token, but not the first machine after a restart', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const [stateHome, trainer] = [temporaryFolder(), makeGatedTrainer()];
  const start = (home: string): Program =>
    startWorker({ url: server.url, token, args: trainer.args, stateHome: home });
  const first = start(stateHome);
  await first.waitForLine(/^Connected/);
  const job = await server.submit({ config: {} });
  const pid = await pidOf(first, 'runs');
  const otherMachine = start(temporaryFolder());
  await otherMachine.waitForLine(/^Another machine uses this worker's token/);
  first.kill('SIGKILL');
  await first.exited;
  const restarted = start(stateHome);
  await restarted.waitForLine(/^Connected/);
  expect(await pidOf(restarted, 'goes on')).toBe(pid);
  trainer.open();
  expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1, worker_id: id });
  expect(otherMachine.lines.filter(line => line.startsWith('Another machine'))).toHaveLength(1);
}, 30_000);
