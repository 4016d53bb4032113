import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createBuilder } from 'vite';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Program, root, startProgram, temporaryFolder } from '../support/processes.ts';
import { startTestServer } from '../support/server.ts';
import { makeIdentity } from '../support/tls/identity.ts';
import { startListener } from '../support/tls/listener.ts';
import { endTrainings } from '../support/trainings.ts';

/**
 * Makes this Node report an old version. A real old Node would crash while it loads a program that is too new for it.
 */
const asNode20 = [
  '--import',
  `data:text/javascript,${encodeURIComponent("Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })")}`,
];
const refusal =
  /^Trainyard needs Node 22\.19 or newer, but this is Node 20\.20\.2 \(.*\): install a newer one/;

/** The worker as a rig receives it: one file in an otherwise empty folder. */
describe('the bundled worker', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'trainyard-worker.mjs');
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Program =>
    startProgram([process.execPath, file, ...args], { cwd: folder, env: { XDG_STATE_HOME: folder, ...env } });

  beforeAll(async () => {
    const builder = await createBuilder({ root, logLevel: 'error' });
    const { agent } = builder.environments;
    if (agent === undefined) throw new Error('vite.config.ts builds no agent');
    await builder.build(agent);
    copyFileSync(join(root, 'dist/agent/trainyard-worker.mjs'), file);
  });

  test('prints the version of the bundled worker', async () => {
    expect((await start(['--version']).waitForLine(/^\d+\.\d+\.\d+/))[0]).toMatch(/^\d/);
  });

  test('exits the bundled worker with a one-line message on an old Node', async () => {
    const worker = startProgram([process.execPath, ...asNode20, file, '--version'], { cwd: folder });
    expect((await worker.exited).code).toBe(2);
    expect(worker.lines).toEqual([expect.stringMatching(refusal)]);
  });

  test('checks the Node version at the start of the bundled worker, which imports no module', () => {
    const text = readFileSync(file, 'utf8');
    expect(text.indexOf('Trainyard needs Node')).toBeLessThan(1_000);
    expect(text).not.toMatch(/^(?:import|export) .*from /m);
  });

  test('connects the bundled worker over TLS to a server with a pinned key', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const { id, token } = await server.createWorker({ name: 'rig-1' });
    const identity = await makeIdentity();
    const front = await startListener(identity, { to: server.url });
    const worker = start(['--orchestrator-url', front.url, '--name', 'rig-1', '--pin', identity.pin], {
      SIMPLETUNER_WORKER_TOKEN: token,
    });
    onTestFinished(() => worker.kill('SIGKILL'));
    expect(await server.watch.worker(id, 'idle')).toMatchObject({ name: 'rig-1' });
    expect(front.received()).toContain(token);
  });

  test('resumes a job after kill -9 of the bundled worker, completes the job, and exits', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    onTestFinished(() => endTrainings(folder));
    const { id, token } = await server.createWorker({ name: 'rig-1' });
    const startJoining = (): Program => {
      const worker = start(['--orchestrator-url', server.url, '--name', 'rig-1'], {
        SIMPLETUNER_WORKER_TOKEN: token,
      });
      onTestFinished(() => worker.kill('SIGKILL'));
      return worker;
    };
    const first = startJoining();
    await server.watch.worker(id, 'idle');
    const job = await server.submit({ config: { trainer: 'selftest', seconds: 3 } });
    await server.watch.job(job, 'running');
    const [, pid] = await first.waitForLine(/^Job .* runs: .*\(pid (\d+)\)/);
    first.kill('SIGKILL');
    await first.exited;
    const second = startJoining();
    await second.waitForLine(new RegExp(`^Job .* goes on: .*\\(pid ${pid}\\)`));
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    expect((await second.exited).code).toBe(0);
  });
});

/** The installed command line, which uses nothing of this checkout except one compiled package. */
describe('the built command line', () => {
  const folder = temporaryFolder();
  const builtFolder = join(folder, 'main');
  const dataDir = join(folder, 'data');
  const start = (args: readonly string[], nodeArgs: readonly string[] = []): Program =>
    startProgram(
      [process.execPath, ...nodeArgs, join(builtFolder, 'cli.js'), ...args, '--data-dir', dataDir],
      {
        cwd: folder,
      },
    );

  beforeAll(async () => {
    const environments = { main: { build: { outDir: builtFolder } } };
    const builder = await createBuilder({ root, logLevel: 'error', environments });
    const { main } = builder.environments;
    if (main === undefined) throw new Error('vite.config.ts builds no command line');
    await builder.build(main);
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(
      join(root, 'node_modules/better-sqlite3'),
      join(folder, 'node_modules/better-sqlite3'),
      'dir',
    );
  });

  test('starts the built server, answers its CLI commands, and stops cleanly', async () => {
    const server = start(['server', '--port', '0', '--json']);
    onTestFinished(() => server.kill('SIGKILL'));
    await server.waitForLine(/^\{"ready":true/);
    const workers = start(['workers', 'create', 'rig-1']);
    expect((await workers.exited).code).toBe(0);
    const workerList = start(['workers', 'list', '--json']);
    await workerList.waitForLine(/"rig-1"/);
    server.kill('SIGTERM');
    expect((await server.exited).code).toBe(0);
    expect(existsSync(join(dataDir, 'trainyard.db-stopped'))).toBe(true);
  });

  test('exits the built command line with a one-line message on an old Node, before it loads other files', async () => {
    const server = start(['server', '--port', '0'], asNode20);
    expect((await server.exited).code).toBe(2);
    expect(server.lines).toEqual([expect.stringMatching(refusal)]);
    expect(readFileSync(join(builtFolder, 'cli.js'), 'utf8')).not.toMatch(/^import /m);
  });
});
