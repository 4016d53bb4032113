/**
 * A real agent joins a real server: with a join token that works once, across kills at the worst moments, and without
 * showing its tokens.
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { textsBelow } from '../support/files-below.ts';
import { argvOf } from '../support/own-processes.ts';
import { eventually } from '../support/notices.ts';
import { type Program, startServer, startWorker, temporaryFolder, trainyard } from '../support/processes.ts';
import {
  adminClient,
  createShortcuts,
  startTestServer,
  type TestServer,
  valueOf,
} from '../support/server.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function openServer(): Promise<TestServer> {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  return server;
}

async function createJoinToken(server: TestServer, name = 'rig-1') {
  const { id } = await server.createWorker({ name });
  return valueOf(await server.admin.call(workersApi.createJoinToken, { params: { id } }));
}

/** Returns the stored token and the mode of its file. */
function storedToken(stateHome: string, name = 'rig-1') {
  const file = join(stateHome, 'trainyard', name, 'token');
  const { joined, pending } = JSON.parse(readFileSync(file, 'utf8')) as Record<
    'joined' | 'pending',
    { readonly join_sha256: string; readonly token: string } | null
  >;
  return { joined, pending, mode: statSync(file).mode & 0o777 };
}

/** Creates a trainer that records its arguments and its environment, and exits. */
function makeRecordingTrainer(): { readonly trainer: string; readonly file: string } {
  const folder = temporaryFolder();
  const [script, file] = [join(folder, 'trainer.cjs'), join(folder, 'seen.json')];
  const seen = '{ args: process.argv, env: process.env }';
  writeFileSync(
    script,
    `require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify(${seen})); setTimeout(() => {}, 300)`,
  );
  return { trainer: `'${process.execPath}' '${script}'`, file };
}

test('joins once, reconnects after a kill, and refuses the join token on another machine', async () => {
  const server = await openServer();
  const joinToken = await createJoinToken(server);
  const [stateHome, recordingTrainer] = [temporaryFolder(), makeRecordingTrainer()];
  const args = ['--name', 'rig-1', '--persistent', '--trainer', recordingTrainer.trainer, '-v'];
  const start = (home: string): Program =>
    startWorker({ url: server.url, token: joinToken.join_token, args, stateHome: home });

  const first = start(stateHome);
  await first.waitForLine(/^Joined as rig-1 \(w_/);
  first.kill('SIGKILL');
  await first.exited;
  const restarted = start(stateHome);
  await restarted.waitForLine(/^Connected to .* as rig-1/);
  expect(restarted.lines.join('\n')).not.toContain('Joined');

  const { joined, pending, mode } = storedToken(stateHome);
  expect([joined?.join_sha256, pending, mode]).toEqual([sha256(joinToken.join_token), null, 0o600]);
  const token = joined?.token ?? '';
  expect(token).toMatch(/^wt_[\w-]{43}$/);

  const otherMachine = start(temporaryFolder());
  expect(await otherMachine.exited).toEqual({ code: 3, signal: null });
  expect(otherMachine.lines.at(-1)).toMatch(
    /^Invalid token: This join token was used already, and works once; make a new/,
  );

  const job = await server.submit({ config: {} });
  expect(await server.watch.jobEnd(job)).toMatchObject({
    status: 'completed',
    worker_id: joinToken.worker_id,
  });
  const seen = readFileSync(recordingTrainer.file, 'utf8');
  const allOutput = [first, restarted, otherMachine].flatMap(({ lines }) => lines).join('\n');
  const readableTexts = [
    argvOf(restarted.pid),
    seen,
    allOutput,
    server.log.join('\n'),
    ...textsBelow(join(stateHome, 'trainyard/rig-1/jobs')).values(),
  ];
  for (const secret of [token, joinToken.join_token])
    for (const text of readableTexts) expect(text).not.toContain(secret);
  for (const text of textsBelow(server.dataDir).values()) expect(text).not.toContain(token);
}, 60_000);

test('joins again with its stored token when the response to the join was lost', async () => {
  const server = await openServer();
  const joinToken = await createJoinToken(server);
  const stateHome = temporaryFolder();
  const args = ['--name', 'rig-1', '--persistent'];
  // Simulates a kill between the request and its response: the worker has stored its new token as `pending`.
  const first = startWorker({ url: server.url, token: joinToken.join_token, args, stateHome });
  await first.waitForLine(/^Joined/);
  first.kill('SIGKILL');
  await first.exited;
  const file = join(stateHome, 'trainyard/rig-1/token');
  const { joined } = storedToken(stateHome);
  writeFileSync(file, JSON.stringify({ joined: null, pending: joined }));

  const restarted = startWorker({ url: server.url, token: joinToken.join_token, args, stateHome });
  await restarted.waitForLine(/^Joined as rig-1/);
  await restarted.waitForLine(/^Connected to/);
  expect(storedToken(stateHome)).toMatchObject({ joined, pending: null });
}, 60_000);

test('retries until the orchestrator is up, and then joins', async () => {
  const first = await startServer();
  onTestFinished(() => first.kill('SIGKILL'));
  const admin = adminClient(first.url, readFileSync(join(first.dataDir, 'admin-token'), 'utf8').trim());
  const { id } = await createShortcuts(admin).createWorker({ name: 'rig-1' });
  const joinToken = valueOf(await admin.call(workersApi.createJoinToken, { params: { id } }));
  first.kill('SIGKILL');
  await first.exited;
  const worker = startWorker({
    url: first.url,
    token: joinToken.join_token,
    args: ['--name', 'rig-1', '--persistent'],
  });
  await worker.waitForLine(/^Connection refused.*Trying again/);
  const second = await startServer(['--port', new URL(first.url).port], first.dataDir);
  onTestFinished(() => second.kill('SIGKILL'));
  await worker.waitForLine(/^Connected to .* as rig-1/);
  expect(worker.lines.filter(line => line.startsWith('Joined'))).toHaveLength(1);
}, 60_000);

test('joins again when its token file gets a join token after a rotation', async () => {
  const server = await openServer();
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const [stateHome, file] = [temporaryFolder(), join(temporaryFolder(), 'token')];
  writeFileSync(file, token, { mode: 0o600 });
  const args = ['--name', 'rig-1', '--persistent', '--worker-token-file', file];
  const worker = startWorker({ url: server.url, token: '', args, stateHome });
  await worker.waitForLine(/^Connected/);
  valueOf(await server.admin.call(workersApi.rotateToken, { params: { id }, body: {} }));
  await worker.waitForLine(/^The orchestrator rejected the token/);
  const joinToken = valueOf(await server.admin.call(workersApi.createJoinToken, { params: { id } }));
  writeFileSync(file, joinToken.join_token);
  await worker.waitForLine(/^Joined as rig-1/);
  await eventually(
    'the second connection',
    () => worker.lines.filter(line => line.startsWith('Connected')).length === 2,
  );
  expect(storedToken(stateHome).joined?.join_sha256).toBe(sha256(joinToken.join_token));
}, 60_000);

test('stops the old process of a worker when another machine joins as that worker', async () => {
  const server = await openServer();
  const { id, token } = await server.createWorker({ name: 'rig-1' });
  const args = ['--name', 'rig-1', '--persistent'];
  const firstMachine = startWorker({ url: server.url, token, args });
  await firstMachine.waitForLine(/^Connected/);
  const joinToken = valueOf(await server.admin.call(workersApi.createJoinToken, { params: { id } }));
  const secondMachine = startWorker({ url: server.url, token: joinToken.join_token, args });
  await secondMachine.waitForLine(/^Connected/);
  expect((await firstMachine.exited).code).toBe(3);
  expect(secondMachine.lines.join('\n')).not.toContain('Another machine');
}, 60_000);

test('starts without a token option on a machine that has joined', async () => {
  const server = await openServer();
  const joinToken = await createJoinToken(server);
  const stateHome = temporaryFolder();
  const args = ['--name', 'rig-1', '--persistent'];
  const first = startWorker({ url: server.url, token: joinToken.join_token, args, stateHome });
  await first.waitForLine(/^Connected/);
  first.kill('SIGTERM');
  expect((await first.exited).code).toBe(0);
  const restarted = trainyard(['worker', '--orchestrator-url', server.url, ...args], {
    env: { XDG_STATE_HOME: stateHome, XDG_CONFIG_HOME: stateHome },
  });
  onTestFinished(async () => {
    restarted.kill('SIGKILL');
    await restarted.exited;
  });
  await restarted.waitForLine(/^Connected to .* as rig-1/);
}, 60_000);
