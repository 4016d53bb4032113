/** A worker as a systemd service of a user. A fake `systemctl` records its calls. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../protocol/admin-api.ts';
import { type Program, startProgram, startWorker, temporaryFolder, trainyard } from '../support/processes.ts';
import { startTestServer, valueOf } from '../support/server.ts';

/** Creates the home folder of a user, and a fake `systemctl` that runs the given shell code after it records its call. */
function createMachine(systemctl = 'exit 0') {
  const home = temporaryFolder();
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$*" >> '${home}/calls'\n${systemctl}\n`, {
    mode: 0o755,
  });
  // The worker detects this program as its trainer.
  writeFileSync(join(bin, 'python'), '#!/bin/sh\n', { mode: 0o755 });
  const env = {
    PATH: `${bin}:${process.env['PATH']}`,
    XDG_CONFIG_HOME: home,
    XDG_STATE_HOME: join(home, 'state'),
  };
  const run = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const program: Program = trainyard(['worker', ...args], { env: { ...env, ...more } });
    const { code } = await program.exited;
    return [code, program.lines.join('\n')] as const;
  };
  return {
    home,
    bin,
    run,
    unit: join(home, 'systemd/user/trainyard-worker-rig-1.service'),
    token: join(home, 'trainyard/trainyard-worker-rig-1.token'),
    calls: () =>
      existsSync(join(home, 'calls')) ? readFileSync(join(home, 'calls'), 'utf8').trim().split('\n') : [],
  };
}

const args = ['--user', '--orchestrator-url', 'http://yard:8001', '--name', 'rig-1'];
const secret = { SIMPLETUNER_WORKER_TOKEN: 'tj_secret' };

describe.skipIf(process.platform !== 'linux')('worker service', () => {
  test('installs, starts and uninstalls the service of a worker, with its token in a private file', async () => {
    const machine = createMachine();
    const state = join(machine.home, 'worker state');
    const more = ['--label', 'a=b c', '-v', '--state-dir', state];
    const [code, output] = await machine.run(['install-service', ...args, ...more], secret);
    expect([code, output]).toEqual([
      0,
      expect.stringContaining('as a service: journalctl --user -u') as string,
    ]);
    const unit = 'trainyard-worker-rig-1.service';
    expect(machine.calls()).toEqual([
      '--user daemon-reload',
      `--user enable ${unit}`,
      `--user restart ${unit}`,
    ]);
    const text = readFileSync(machine.unit, 'utf8');
    expect(text).not.toContain('secret');
    expect(text).toContain(`--worker-token-file=${machine.token}`);
    for (const word of ['worker', '--persistent', '"--label=a=b c"', '--name=rig-1'])
      expect(text).toContain(`  ${word}`);
    expect(text).not.toContain('verbose');
    expect([readFileSync(machine.token, 'utf8'), statSync(machine.token).mode & 0o777]).toEqual([
      'tj_secret\n',
      0o600,
    ]);

    expect(await machine.run(['uninstall-service', '--user', '--name', 'rig-1'])).toEqual([
      0,
      expect.stringContaining(`Its state is kept in ${state}`) as string,
    ]);
    expect(machine.calls().slice(3)).toEqual([`--user disable --now ${unit}`, '--user daemon-reload']);
    expect([existsSync(machine.unit), existsSync(machine.token)]).toEqual([false, false]);
  }, 60_000);

  test('prints the service unit with --print, and changes nothing', async () => {
    const machine = createMachine();
    const [code, output] = await machine.run(['install-service', ...args, '--print'], secret);
    expect([code, output]).toEqual([0, expect.stringContaining('KillMode=process') as string]);
    expect(output).not.toContain('secret');
    expect([machine.calls(), existsSync(machine.unit), existsSync(machine.token)]).toEqual([
      [],
      false,
      false,
    ]);
  }, 30_000);

  test("keeps the worker's identity when it becomes a service, and needs no other token", async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const machine = createMachine();
    const { id } = await server.createWorker({ name: 'rig-1' });
    const { join_token: token } = valueOf(
      await server.admin.call(workersApi.createJoinToken, { params: { id }, body: {} }),
    );
    const state = join(machine.home, 'state');
    const worker = startWorker({
      url: server.url,
      token,
      args: ['--name', 'rig-1', '--persistent'],
      stateHome: state,
    });
    await server.watch.worker(id, 'idle');
    const install = ['install-service', '--user', '--orchestrator-url', server.url, '--name', 'rig-1'];
    expect(await machine.run(install)).toEqual([
      73,
      expect.stringMatching(/is already running \(pid \d+\): stop it/),
    ]);
    expect([machine.calls(), existsSync(machine.unit)]).toEqual([[], false]);
    worker.kill('SIGKILL');
    await worker.exited;
    const venv = join(machine.home, 'venv');
    expect((await machine.run(install, { VIRTUAL_ENV: venv }))[0]).toBe(0);
    const text = readFileSync(machine.unit, 'utf8');
    expect(text).toContain(`\nEnvironment="PATH=${venv}/bin:${machine.bin}:`);
    expect(text).not.toContain('token');
    const [, start = ''] = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(text) ?? [];
    const service = startProgram(start.replaceAll('\\\n', ' ').trim().split(/\s+/), {
      cwd: machine.home,
      env: { SIMPLETUNER_WORKER_TOKEN: undefined, XDG_STATE_HOME: temporaryFolder() },
    });
    onTestFinished(() => service.kill('SIGKILL'));
    await service.waitForLine(new RegExp(`^Connected to ${server.url} as rig-1 \\(${id}\\)$`));
  }, 60_000);

  test('reports a service that does not start, with the message of systemctl', async () => {
    const machine = createMachine('echo "Failed to connect to bus" >&2; exit 1');
    const [code, output] = await machine.run(['install-service', ...args], secret);
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(
        /"systemctl --user daemon-reload" failed: Failed to connect to bus.*uninstall-service/,
      ) as string,
    ]);
  }, 30_000);

  test.each<[string, readonly string[], string, Readonly<Record<string, string>>?]>([
    ['without a token', args, 'has not joined yet', { SIMPLETUNER_WORKER_TOKEN: '' }],
    ['without a trainer', [...args, '--trainer', '/nowhere/train {config_path}'], 'No trainer found'],
    ['without an address', ['--user', '--name', 'rig-1'], 'The orchestrator URL is missing'],
    ['with a line break', [...args, '--label', 'a=b\nExecStart=/bin/evil'], 'contains a line break'],
    [
      'with a pin for an http address',
      [...args, '--pin', `sha256:${'A'.repeat(43)}=`],
      '--pin is for https://',
    ],
  ])(
    'refuses to install a service %s',
    async (_what, given, words, env = secret) => {
      const machine = createMachine();
      const [code, output] = await machine.run(['install-service', ...given], env);
      expect([code, output]).toEqual([2, expect.stringContaining(words) as string]);
      expect([machine.calls(), existsSync(machine.unit)]).toEqual([[], false]);
    },
    30_000,
  );
});
