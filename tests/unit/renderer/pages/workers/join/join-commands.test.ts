/** Tests the join commands in a real shell. A fake program replaces `trainyard`. */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { joinLine, shortLine } from '../../../../../../protocol/join-line.ts';
import {
  environmentCommands,
  isLoopback,
  type Joining,
  maskToken,
  podScript,
  reachCommand,
  serviceCommand,
  shellCommand,
  simpletunerCommand,
} from '../../../../../../renderer/pages/workers/join/join-commands.ts';
import { windowsCommand } from '../../../../../../renderer/pages/workers/join/windows-commands.ts';
import { openFolder } from '../../../../../support/fleet-bench.ts';
import { eventually } from '../../../../../support/notices.ts';

const joining: Joining = {
  url: 'https://yard.example:8443',
  pin: null,
  token: 'wt_secret-1',
  name: 'rig-3',
  type: 'persistent',
};
const specialName = `it's $HOME "x" \`id\` %h 机`;

const ProgramCall = z.object({ args: z.array(z.string()), env: z.record(z.string(), z.string()) });

const userService = (values: Joining): string => serviceCommand(values, false);
const systemService = (values: Joining): string => serviceCommand(values, true);

/** Runs the command in a shell. Returns the arguments and the environment that it passes to `trainyard`. */
function run(command: string): z.output<typeof ProgramCall> {
  const script = `trainyard() { node -e 'console.log(JSON.stringify({args: process.argv.slice(1), env: process.env}))' -- "$@"; }\n${command}`;
  return ProgramCall.parse(JSON.parse(execFileSync('sh', ['-c', script], { encoding: 'utf8' })));
}

test('passes the settings as arguments and the token in the environment in the shell command', () => {
  const { args, env } = run(shellCommand(joining));
  expect(args).toEqual(['worker', '--orchestrator-url', joining.url, '--name', 'rig-3', '--persistent']);
  expect(env['SIMPLETUNER_WORKER_TOKEN']).toBe(joining.token);
});

test('passes a pin as one argument in every command', () => {
  const pin = 'sha256:Ab+/0123456789abcdefghijklmnopqrstuvwxyzABC=';
  const pinned: Joining = { ...joining, pin };
  const args = ['--pin', pin];
  expect(run(shellCommand(pinned)).args).toEqual(expect.arrayContaining(args));
  expect(run(environmentCommands(pinned)).args).toEqual(['worker', ...args]);
  expect(podScript(pinned)).toContain(`trainyard worker --pin ${pin} &\n`);
  expect(run(userService(pinned)).args).toEqual(expect.arrayContaining(args));
  expect(windowsCommand({ ...pinned, bundle: 'b'.repeat(64) }, 'service')).toContain(
    `install-service --pin ${pin} }`,
  );
  for (const buildCommand of [shellCommand, environmentCommands, podScript, userService])
    expect(buildCommand(joining)).not.toContain('--pin');
});

test('passes the pin to curl in the format of curl, and disables the other certificate checks', () => {
  expect(reachCommand({ url: joining.url, pin: 'sha256:Ab+/=' })).toBe(
    `curl -sS -k --pinnedpubkey 'sha256//Ab+/=' ${joining.url}/health/live`,
  );
  expect(reachCommand(joining)).toBe(`curl -sS ${joining.url}/health/live`);
});

test("builds the same command with another program name for SimpleTuner's own worker", () => {
  const command = simpletunerCommand({ ...joining, name: specialName });
  const { args, env } = run(command.replace('simpletuner worker', 'trainyard worker'));
  expect(command).toMatch(/^SIMPLETUNER_WORKER_TOKEN=wt_secret-1 .*\n {2}simpletuner worker /);
  expect(args).toEqual(['worker', '--orchestrator-url', joining.url, '--name', specialName, '--persistent']);
  expect(env['SIMPLETUNER_WORKER_TOKEN']).toBe(joining.token);
});

test("disables the certificate check for SimpleTuner's own worker, which supports no pins", () => {
  const pinned = simpletunerCommand({ ...joining, pin: 'sha256:Ab+/=' });
  expect(pinned).toContain(`--orchestrator-url ${joining.url} --ssl-no-verify \\\n`);
  expect(pinned).not.toContain('--pin');
  expect(simpletunerCommand(joining)).not.toContain('--ssl');
});

test('omits --persistent for an ephemeral worker', () => {
  const ephemeral: Joining = { ...joining, type: 'ephemeral' };
  expect(run(shellCommand(ephemeral)).args).not.toContain('--persistent');
  expect(simpletunerCommand(ephemeral)).not.toContain('--persistent');
  expect(run(environmentCommands(ephemeral)).env['SIMPLETUNER_WORKER_PERSISTENT']).toBeUndefined();
});

describe('commands when the server offers the worker for download', () => {
  const script = 'e'.repeat(64);
  const downloadable: Joining = { ...joining, pin: 'sha256:Ab+/=', script };

  test('downloads the install script with the same pin and checks its checksum in every command', () => {
    for (const buildCommand of [shellCommand, environmentCommands, podScript, userService, systemService]) {
      expect(buildCommand(downloadable)).toContain(
        `curl -fsSk --pinnedpubkey sha256//Ab+/= ${joining.url}/agent/install.sh`,
      );
      expect(buildCommand(downloadable)).toContain(` in ${script}*) `);
    }
  });

  test('builds the shell command as a single line', () => {
    expect(shellCommand(downloadable)).toBe(joinLine({ ...downloadable, persistent: true }, script));
    for (const buildCommand of [shellCommand, userService, systemService])
      expect(buildCommand(downloadable)).not.toContain('\n');
  });

  /**
   * A fake curl returns a script that records its arguments, its standard input and its environment. Each case has the
   * arguments before and after the server arguments. Null means that the command passes name, type and token in the
   * environment.
   */
  test.each([
    ['the shell command', shellCommand, ['--token-stdin'], ['--persistent']],
    ['the environment commands', environmentCommands, [], null],
    ['the user service', userService, ['--token-stdin', 'install-service'], []],
    [
      'the system service',
      systemService,
      ['root', '--token-stdin', '--dir', '/usr/local/bin', 'install-service'],
      [],
    ],
  ] as const)(
    'passes URL and token to the install script in %s',
    (_tab, buildCommand, firstArguments, lastArguments) => {
      const folder = openFolder();
      const lines = [
        `cat > '${folder}/stdin'`,
        `printf '%s\\n' $SUDO "$@" > '${folder}/args'`,
        `env > '${folder}/env'`,
      ].join('\n');
      const command = buildCommand({
        ...downloadable,
        name: specialName,
        script: createHash('sha256').update(`${lines}\n`).digest('hex'),
      });
      writeFileSync(join(folder, 'curl'), `#!/bin/sh\ncat <<'EOF'\n${lines}\nEOF\n`, { mode: 0o755 });
      writeFileSync(join(folder, 'sudo'), '#!/bin/sh\nSUDO=root exec "$@"\n', { mode: 0o755 });
      execFileSync('sh', ['-c', command], { env: { PATH: `${folder}:${process.env['PATH']}` }, input: '' });
      const args = readFileSync(join(folder, 'args'), 'utf8').trimEnd().split('\n');
      const serverArguments = ['--orchestrator-url', joining.url, '--pin', 'sha256:Ab+/='];
      const workerArguments = lastArguments === null ? [] : ['--name', specialName, ...lastArguments];
      expect(args).toEqual([...firstArguments, ...serverArguments, ...workerArguments]);
      expect(readFileSync(join(folder, 'stdin'), 'utf8')).toBe(
        lastArguments === null ? '' : `${joining.token}\n`,
      );
      const hasToken = readFileSync(join(folder, 'env'), 'utf8').includes(joining.token);
      expect(hasToken).toBe(lastArguments === null);
    },
  );

  test('builds short commands for HTTPS when the server offers /join', () => {
    const short: Joining = { ...downloadable, isShort: true };
    const curl = `curl -fsSk --pinnedpubkey sha256//Ab+/= ${joining.url}/join`;
    const token = `JOIN_TOKEN=${joining.token}`;
    expect(shellCommand(short)).toBe(shortLine({ ...downloadable, persistent: true }));
    expect(shellCommand(short)).toBe(`${curl} | ${token} sh -s -- --name rig-3 --persistent`);
    expect(userService(short)).toBe(`${curl} | ${token} sh -s -- install-service --name rig-3`);
    expect(systemService(short)).toBe(
      `${curl} | ${token} sudo --preserve-env=JOIN_TOKEN sh -s -- --dir /usr/local/bin install-service --name rig-3`,
    );
    expect(environmentCommands(short).split('\n').at(-1)).toBe(`${curl} | sh`);
    const overPlainHttp: Joining = { ...short, url: 'http://yard.example:8001', pin: null };
    for (const buildCommand of [shellCommand, environmentCommands, userService, systemService])
      expect(buildCommand(overPlainHttp)).toContain(` in ${script}*) `);
  });

  test('starts the downloaded worker in the pod script', () => {
    expect(podScript(downloadable)).toContain('  "$HOME/.local/bin/trainyard-worker" --pin sha256:Ab+/= &\n');
    expect(podScript(downloadable)).toContain('--install-only --orchestrator-url');
  });
});

test('quotes special characters in a worker name', () => {
  const renamed: Joining = { ...joining, name: specialName };
  expect(run(shellCommand(renamed)).args).toContain(specialName);
  expect(run(environmentCommands(renamed)).env['SIMPLETUNER_WORKER_NAME']).toBe(specialName);
});

test('passes all settings of the worker in environment variables', () => {
  const { args, env } = run(environmentCommands(joining));
  expect(args).toEqual(['worker']);
  expect(env).toMatchObject({
    SIMPLETUNER_ORCHESTRATOR_URL: joining.url,
    SIMPLETUNER_WORKER_TOKEN: joining.token,
    SIMPLETUNER_WORKER_NAME: 'rig-3',
    SIMPLETUNER_WORKER_PERSISTENT: 'true',
  });
});

describe('the pod script', () => {
  /** Runs the script with a fake `trainyard`, which records each call and then runs `program`. */
  function start(program: string) {
    const folder = openFolder();
    const callsFile = join(folder, 'calls');
    writeFileSync(
      join(folder, 'trainyard'),
      `#!/bin/sh\necho "$@ $SIMPLETUNER_WORKER_NAME" >> '${callsFile}'\n${program}\n`,
      {
        mode: 0o755,
      },
    );
    writeFileSync(join(folder, 'sleep'), '#!/bin/sh\n', { mode: 0o755 });
    const script = join(folder, 'start.sh');
    writeFileSync(script, podScript({ ...joining, name: specialName }));
    const child = spawn('sh', [script], {
      env: { PATH: `${folder}:${process.env['PATH']}` },
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = new Promise<number | null>(resolve => child.once('exit', resolve));
    const calls = (): readonly string[] =>
      existsSync(callsFile) ? readFileSync(callsFile, 'utf8').trimEnd().split('\n') : [];
    return { child, ended, calls, folder };
  }

  test.each([0, 2, 3, 73])('exits with code %i when the worker exits with this code', async code => {
    const pod = start(`exit ${code}`);
    expect(await pod.ended).toBe(code);
    expect(pod.calls()).toEqual([`worker ${specialName}`]);
  });

  test('restarts a worker that exited with code 1', async () => {
    const pod = start('test -e "$(dirname "$0")/once" && exit 0; touch "$(dirname "$0")/once"; exit 1');
    expect(await pod.ended).toBe(0);
    expect(pod.calls()).toHaveLength(2);
  });

  test('forwards SIGTERM to the worker and waits until the worker ends', async () => {
    const pod = start(
      'trap \'echo stopped; exit 0\' TERM; : > "$(dirname "$0")/up"; while :; do /bin/sleep 0.02; done',
    );
    await eventually('the worker', () => existsSync(join(pod.folder, 'up')));
    pod.child.kill('SIGTERM');
    expect(await pod.ended).toBe(0);
    expect(pod.calls()).toHaveLength(1);
  });

  test('contains the token only in the export of the environment variable', () => {
    const lines = podScript(joining)
      .split('\n')
      .filter(line => line.includes(joining.token));
    expect(lines).toEqual([`export SIMPLETUNER_WORKER_TOKEN=${joining.token}`]);
  });
});

describe('service commands for an installed worker', () => {
  test('passes the token of a user service in the environment, not in an argument', () => {
    const { args, env } = run(userService({ ...joining, name: specialName }));
    const serverArguments = ['--orchestrator-url', joining.url];
    expect(args).toEqual(['worker', 'install-service', ...serverArguments, '--name', specialName]);
    expect(env['SIMPLETUNER_WORKER_TOKEN']).toBe(joining.token);
  });

  test('makes sudo preserve the token variable for a system service', () => {
    expect(systemService(joining)).toContain(
      'sudo --preserve-env=SIMPLETUNER_WORKER_TOKEN trainyard worker install-service ',
    );
    expect(systemService(joining)).toMatch(/^SIMPLETUNER_WORKER_TOKEN=wt_secret-1 /);
  });
});

describe('the PowerShell command', () => {
  const sha256 = 'e'.repeat(64);
  const forWindows = { ...joining, windowsExecutable: sha256, bundle: 'b'.repeat(64) };

  test('builds one line that checks the hash of the executable before the start', () => {
    const command = windowsCommand(forWindows, 'service') ?? '';
    expect(command).not.toContain('\n');
    const steps = [
      'curl.exe -gfsS -o "$w.new" \'https://yard.example:8443/agent/trainyard-worker-win32-x64.exe\'',
      'if ($LASTEXITCODE -ne 0) { throw',
      `if ((Get-FileHash -Algorithm SHA256 "$w.new").Hash -ne '${sha256}') { Remove-Item "$w.new"; throw`,
      'Move-Item -Force "$w.new" $w',
      '& $w install-service',
      'Remove-Item Env:SIMPLETUNER_WORKER_TOKEN',
    ];
    const positions = steps.map(step => command.indexOf(step));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual([...positions].toSorted((first, second) => first - second));
  });

  test('passes token, URL and name in variables, and escapes quotes in the name', () => {
    const command = windowsCommand({ ...forWindows, name: "it's $HOME ‘x’" }, 'start') ?? '';
    expect(command).toContain("$env:SIMPLETUNER_WORKER_TOKEN = 'wt_secret-1'; ");
    expect(command).toContain("$env:SIMPLETUNER_ORCHESTRATOR_URL = 'https://yard.example:8443'; ");
    expect(command).toContain("$env:SIMPLETUNER_WORKER_NAME = 'it''s $HOME ‘‘x’’'; ");
    expect(command.split('wt_secret-1')).toHaveLength(2);
  });

  test('passes the pin of a self-signed server to curl and to the worker', () => {
    const command = windowsCommand({ ...forWindows, pin: 'sha256:Ab+/=' }, 'start') ?? '';
    expect(command).toContain("curl.exe -gfsS -k --pinnedpubkey 'sha256//Ab+/=' -o");
    expect(command).toContain('{ & $w --persistent --pin sha256:Ab+/= }');
  });

  test('starts an ephemeral worker without --persistent', () => {
    expect(windowsCommand({ ...forWindows, type: 'ephemeral' }, 'start')).toContain('try { & $w }');
  });

  test('uses the script for Node without an executable for Windows, and returns null without script and executable', () => {
    const command = windowsCommand({ ...forWindows, windowsExecutable: null }, 'service');
    expect(command).toContain("/agent/trainyard-worker.mjs'");
    expect(command).toContain('{ node $w install-service }');
    expect(windowsCommand(joining, 'start')).toBeNull();
  });
});

test('masks every occurrence of a token without revealing its length', () => {
  expect(maskToken('a TOKEN b TOKEN', 'TOKEN')).toBe(`a ${'•'.repeat(16)} b ${'•'.repeat(16)}`);
  expect(maskToken(shellCommand(joining), joining.token)).not.toContain('secret');
});

test.each([
  ['localhost', true],
  ['yard.localhost', true],
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['[::1]', true],
  ['192.168.1.20', false],
  ['127.example.org', false],
  ['yard.lan', false],
])('isLoopback(%j) is %s', (host, isLocal) => {
  expect(isLoopback(host)).toBe(isLocal);
});
