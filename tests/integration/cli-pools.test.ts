/** `trainyard pools ...` with an engine that consists of four shell scripts. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import type { EngineSettings, LaunchView, PoolView } from '../../protocol/pool.ts';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { digitsTrainer, root } from '../support/processes.ts';
import { workerFile } from '../support/program-files.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';
import { installShellEngine } from '../support/shell-engine.ts';

const current: { server?: TestServer } = {};
afterEach(() => current.server?.close());

type Pools = (args: readonly string[], options?: CliOptions) => Promise<CliRun>;

async function startServerWithPools() {
  const server = await startTestServer();
  current.server = server;
  const pools: Pools = (args, options) =>
    runTrainyard(['pools', ...args, '--data-dir', server.dataDir], options);
  const json = async <T>(args: readonly string[], code = 0): Promise<T> => {
    const run = await pools([...args, '--json']);
    expect([run.code, run.code === code ? '' : run.err]).toEqual([code, '']);
    return JSON.parse(run.out) as T;
  };
  return { server, pools, json };
}

/** Creates a worker program for the machines, which runs the worker of this checkout. */
function installWorker(dataDir: string): string {
  const file = join(dataDir, 'worker');
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${workerFile}' "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}

const shellPool = (server: TestServer): readonly string[] => [
  '--engine=command',
  '--programs=shell',
  '--gpus=0',
  '--accelerator=none',
  '--after=0s',
  '--idle=0s',
  `--worker-program=${installWorker(server.dataDir)}`,
  `--worker-options=--trainer "${digitsTrainer}"`,
];

describe('trainyard pools', () => {
  test('orders a machine for a job, runs the job there, and releases the machine', async () => {
    const { server, pools, json } = await startServerWithPools();
    const engine = installShellEngine(server.dataDir, 'shell');
    expect(await pools(['list'])).toMatchObject({
      code: 0,
      out: '',
      err: 'No pools. To create one, run "trainyard pools create NAME --engine slurm"\n',
    });
    const created = await pools(['create', 'shell', ...shellPool(server)]);
    expect(created).toMatchObject({ code: 0, err: 'To test the pool, run "trainyard pools test shell"\n' });
    expect(created.out).toMatch(/^Pool +shell \(p_\w+\)\nEngine +command\nStatus +ready\n/);
    expect((await pools(['list', '-o', 'name,engine.kind,settings.gpus'])).out).toBe('shell\tcommand\t0\n');
    expect((await pools(['check', 'shell'])).out).toBe(
      'Pool            shell\nEngine          command\nAccepts orders  yes\nVersion         1.0\nDetails         Four scripts\nQueues          all  1 d\n',
    );
    expect((await pools(['launches', 'shell'])).err).toMatch(/^No launches\. /);

    const quickConfig = readFileSync(join(root, 'examples/digits/configs/digits-quick.json'), 'utf8');
    const config = { ...(JSON.parse(quickConfig) as object), epochs: 1 };
    const job = await server.submit({ config, target: 'worker' });
    expect(await server.watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
    await server.watch.until('the end of the launch', event =>
      event.kind === 'pool' && event.type === 'launch.ended' ? event : null,
    );

    const { launches } = await json<{ launches: readonly LaunchView[] }>(['launches', 'shell']);
    expect(launches).toMatchObject([
      { state: 'ended', outcome: 'finished', job_id: job, machines: ['node7'], is_test: false },
    ]);
    const [machine] = engine.machines();
    expect(launches[0]?.engine_id).toBe(String(machine?.pid));
    expect((await pools(['launches', 'shell'])).out).toMatch(/^ID +STATUS[^]*\n\w{16} +finished +0 +shell-/);
    const { workers } = valueOf(await server.admin.call(workersApi.list));
    expect(workers).toEqual([]);
    expect((await pools(['delete', 'shell'])).out).toMatch(/^Deleted +shell \(p_/);
  }, 180_000);

  test('tests a pool: launches one machine that joins and leaves', async () => {
    const { server, pools, json } = await startServerWithPools();
    const engine = installShellEngine(server.dataDir, 'shell');
    await pools(['create', 'shell', ...shellPool(server)]);
    const run = await pools(['test', 'shell']);
    expect(`${run.code}\n${run.err}${engine.machines()[0]?.log}`).toMatch(/^0\n/);
    expect(run.out).toMatch(
      /^Test +passed\nLaunch +\w+, \d+ in the engine\nNode +node7\nGPUs +0 ordered.*\nOrdered +[\d.]+ s until the engine accepted it\nQueued .*\nStarted .*\nJoined .*\nOutcome +finished\n/,
    );
    expect(run.err).toMatch(/^Ordering\n[^]*Joined as shell-\w+\n[^]*Leaving/);
    const { launches } = await json<{ launches: readonly LaunchView[] }>(['launches', 'shell']);
    expect(launches).toMatchObject([{ is_test: true, job_id: null, outcome: 'finished' }]);
  }, 180_000);

  test('fails the test of a pool when the worker on the launched machine never joins', async () => {
    const { server, pools, json } = await startServerWithPools();
    installShellEngine(server.dataDir, 'shell');
    await pools(['create', 'shell', ...shellPool(server), '--setup', 'exit 3']);
    const run = await pools(['test', 'shell', '--json']);
    expect(run.code).toBe(1);
    expect(JSON.parse(run.out)).toMatchObject({ passed: false, outcome: 'never_joined' });
    expect(run.err).toMatch(/The test of pool shell failed: .*its worker did not register/);

    const { paused } = await json<PoolView>(['pause', 'shell', '--reason', 'new setup']);
    expect(paused).toMatchObject({ reason: 'new setup' });
    expect((await json<PoolView>(['resume', 'shell'])).paused).toBeNull();
  }, 60_000);

  test('launches no machine for the test of a pool whose engine does not accept orders', async () => {
    const { pools } = await startServerWithPools();
    await pools(['create', 'shell', '--engine', 'command', '--programs', 'shell']);
    expect(await pools(['check', 'shell'])).toMatchObject({
      code: 1,
      err: 'The engine of pool shell does not accept orders\n',
    });
    const run = await pools(['test', 'shell']);
    expect([run.code, run.out]).toEqual([1, '']);
    expect(run.err).toMatch(
      /^Nothing was launched: the engine of pool shell does not accept orders: .*does not exist/,
    );
    expect((await pools(['launches', 'shell', '-o', 'launch_id'])).out).toBe('');
  });

  test('ends the launch when the test of a pool is interrupted', async () => {
    const { server, pools, json } = await startServerWithPools();
    installShellEngine(server.dataDir, 'shell');
    await pools(['create', 'shell', ...shellPool(server), '--setup', 'sleep 60']);
    let interrupt = (): void => {};
    const run = await pools(['test', 'shell'], {
      onSignal: (_signal, act) => (interrupt = act),
      onText: text => text.startsWith('Started') && interrupt(),
    });
    expect(`${run.code}\n${run.err}`).toMatch(/^130\n/);
    expect(run.err).toContain('Interrupted: ending the launch');
    const { launches } = await json<{ launches: readonly LaunchView[] }>(['launches', 'shell']);
    expect(launches).toMatchObject([{ state: 'ended', outcome: 'cancelled' }]);
  }, 60_000);

  test('shows launches that have not ended in completions, in jobs why and in jobs get', async () => {
    const { server, pools } = await startServerWithPools();
    installShellEngine(server.dataDir, 'shell');
    await pools(['create', 'shell', ...shellPool(server), '--warm', '1', '--setup', 'sleep 60']);
    await server.watch.until('a launch', event =>
      event.kind === 'pool' && event.type === 'launch.accepted' ? event : null,
    );
    const complete = (...words: readonly string[]) =>
      runTrainyard(['__complete', 'zsh', ...words, '--data-dir', server.dataDir, '']);
    expect((await complete('pools', 'get')).out).toBe('shell\tcommand  ready\n:\n');
    const { out } = await complete('pools', 'end');
    expect(out).toMatch(/^\w{16}\tshell-\w{6} {2}(waiting|running)\n:\n$/);
    const [id = ''] = out.split('\t');
    const job = await server.submit({ config: { trainer: 'digits' }, target: 'worker' });
    for (const command of ['why', 'get']) {
      const jobText = await runTrainyard(['jobs', command, job, '--data-dir', server.dataDir]);
      expect(jobText.out).toMatch(/\nPools +shell: Requested from pool shell at 2\S+Z \(id \d+\): /);
    }
    expect((await pools(['delete', 'shell'])).code).toBe(5);
    expect((await pools(['end', id.slice(0, 8)])).out).toMatch(
      new RegExp(`^Launch +${id}\\nPool +shell\\nStatus +(ending|cancelled)\\n`),
    );
  }, 60_000);

  test('changes the given settings of a pool, and keeps all others', async () => {
    const { pools, json } = await startServerWithPools();
    const file = `
name: gpu
engine: { kind: slurm, login: me@login.example.org, partition: a100 }
max_launches: 2
labels: { site: berlin, rack: "4" }
`;
    const created = await pools(['create', '--file', '-', '--max-gpus', '8'], { input: file });
    expect([created.code, created.out]).toEqual([
      0,
      expect.stringMatching(
        /Settings +--login me@login.example.org\n +--partition a100\n +--label site=berlin\n +--label rack=4\n +--max-launches 2\n +--max-gpus 8\n$/,
      ),
    ]);
    const changes = ['--max-launches', '8', '--wall-time', '12h', '--max-gpus', 'none', '--label', 'rack-'];
    const changed = await json<PoolView>(['set', 'gpu', ...changes, '--qos', 'high', '--name', 'a100']);
    expect(changed).toMatchObject({
      name: 'a100',
      engine: { kind: 'slurm', login: 'me@login.example.org', partition: 'a100', qos: 'high' },
      settings: { max_launches: 8, wall_time_s: 43_200, max_gpus: null },
    });
    expect(changed.settings.labels).toEqual({ site: 'berlin' });
    const other = await json<PoolView>(['set', 'a100', '--engine', 'kubernetes', '--image', 'me/st:1']);
    expect(other.engine satisfies EngineSettings).toMatchObject({ kind: 'kubernetes', image: 'me/st:1' });
    expect(other.engine).not.toHaveProperty('partition');
    expect(await pools(['set', 'a100'])).toMatchObject({ code: 2 });
  });

  test.each([
    [['create', 'x'], 2, '--engine: must be slurm, kubernetes, command'],
    [['create', 'x', '--engine', 'kubernetes'], 2, '--image: is required'],
    [['create', '--engine', 'slurm'], 2, 'NAME: is required'],
    [['create', 'X!', '--engine', 'slurm'], 2, 'NAME: expected lower-case letters'],
    [['create', 'x', '--engine', 'slurm', '--image', 'a'], 2, '--image is only for Kubernetes pools'],
    [['create', 'x', '--engine', 'slurm', '--max-launches', '0'], 2, '--max-launches: must be at least 1'],
    [['create', 'x', '--engine', 'slurm', '--hours', '8-9'], 2, '--hours: expected HH:MM'],
    [['create', 'x', '--engine', 'slurm', '--file', '/nonexistent.yaml'], 2, 'The pool cannot be read'],
    [['get', 'nothing'], 4, 'No pool "nothing". To list pools, run "trainyard pools list"'],
    [['end', 'nothing'], 4, 'No launch "nothing". To list launches, run "trainyard pools launches POOL"'],
  ])('rejects trainyard pools %j', async (args, code, message) => {
    const { pools } = await startServerWithPools();
    const run = await pools(args);
    expect([run.code, run.out]).toEqual([code, '']);
    expect(run.err).toContain(message);
  });
});
