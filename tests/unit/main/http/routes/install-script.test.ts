// A real shell runs the script, with fake programs for its downloads and for the worker.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { workerCommand } from '../../../../../agent/cli/command.ts';
import { installScript, joinScript } from '../../../../../main/http/routes/install-script.ts';
import type { ProgramName } from '../../../../../protocol/agent-api.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const version = '1.2.3';
const [bundleName, executableName] = ['trainyard-worker.mjs', 'trainyard-worker-linux-x64'] as const;

// A worker program that prints its version for --version, and otherwise its arguments, token and input.
const workerProgram = (printedVersion: string): string =>
  `#!/bin/sh
if [ "$1" = --version ]; then echo ${printedVersion}; exit; fi
echo "started $* token=$SIMPLETUNER_WORKER_TOKEN"
read -r line
echo "stdin=$line"
`;
// The two programs differ only so that they have different hashes.
const executable = workerProgram(version);
const bundle = `${workerProgram(version)}# bundle\n`;

interface Machine {
  // The files that the orchestrator serves.
  readonly files?: Readonly<Record<string, string>>;
  readonly script?: string;
  // The installed program for downloads, or null for none.
  readonly fetcher?: 'curl' | 'wget' | null;
  // The output of `uname -s` and `uname -m`.
  readonly platform?: string;
  // The version of Node, or null for none.
  readonly node?: string | null;
  readonly missingTools?: readonly string[];
}

const requiredTools = ['sh', 'cat', 'chmod', 'cut', 'id', 'ln', 'mkdir', 'mv', 'rm', 'sed', 'sha256sum'];
const scriptOf = (files: readonly (readonly [ProgramName, string])[]): string =>
  installScript(
    version,
    files.map(([name, text]) => ({ name, sha256: sha256(text) })),
  );
const defaultScript = scriptOf([
  [bundleName, bundle],
  [executableName, executable],
]);

/** Creates a home folder and the programs of a machine. */
function openMachine(machine: Machine = {}) {
  const home = openFolder();
  const [tools, served] = [join(home, 'tools'), join(home, 'served')];
  const { files = { [bundleName]: bundle, [executableName]: executable } } = machine;
  for (const folder of [tools, served]) mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(served, name), text);
  const installedTools = requiredTools.filter(name => machine.missingTools?.includes(name) !== true);
  for (const name of installedTools)
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(tools, name));
  const createTool = (name: string, text: string): void =>
    writeFileSync(join(tools, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const { fetcher = 'curl', platform = 'Linux x86_64', node = null } = machine;
  const [system, architecture] = platform.split(' ');
  // The fake program records its arguments, and writes the file that the URL names to the requested path.
  if (fetcher !== null)
    createTool(
      fetcher,
      `echo "${fetcher} $*" >> '${home}/calls'
       export -p >> '${home}/environments'
       while [ $# -gt 0 ]; do case $1 in -o | -O) out=$2 ;; http*) url=$1 ;; esac; shift; done
       cat '${served}'/"$(echo "$url" | sed 's#.*/##')" > "$out"`,
    );
  createTool('uname', `case $1 in -s) echo '${system}' ;; *) echo '${architecture}' ;; esac`);
  // The install script runs `node -e` to check the version. This program accepts 20 and newer.
  if (node !== null)
    createTool(
      'node',
      `case $1 in --version) echo v${node} ;; -e) [ ${node.startsWith('2') ? 1 : 0} = 1 ] ;; esac`,
    );
  const run = (
    args: readonly string[],
    { input = '', script = machine.script ?? defaultScript, token = '' } = {},
  ) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script, 'trainyard', ...args], {
      cwd: home,
      input,
      encoding: 'utf8',
      env: {
        PATH: tools,
        HOME: home,
        ...(token !== '' && { JOIN_TOKEN: token }),
      },
    });
    return { status, stdout, stderr };
  };
  const bin = join(home, '.local/bin');
  /** Pipes the script into a shell in a terminal, and types `answer` there. Returns the output of the terminal. */
  const runInTerminal = (args: readonly string[], answer: string): string => {
    writeFileSync(join(home, 'script'), machine.script ?? defaultScript);
    const quotedArguments = ['--', ...args].map(word => `'${word}'`).join(' ');
    const line = `PATH='${tools}' HOME='${home}' sh -c "cat '${home}/script' | sh -s ${quotedArguments}"`;
    const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], {
      input: `${answer}\n`,
      encoding: 'utf8',
    });
    return stdout;
  };
  return {
    run,
    runInTerminal,
    environments: () => readFileSync(join(home, 'environments'), 'utf8'),
    home,
    bin,
    installed: () => (existsSync(bin) ? readdirSync(bin).toSorted() : []),
    calls: () =>
      existsSync(join(home, 'calls')) ? readFileSync(join(home, 'calls'), 'utf8').trim().split('\n') : [],
  };
}

const serverOptions = ['--orchestrator-url', 'http://yard:8001'] as const;

test('passes the options to the worker in order, and the token only through stdin', () => {
  const machine = openMachine();
  const oddName = `it's "x" $HOME \`id\``;
  const { status, stdout, stderr } = machine.run(
    ['--token-stdin', ...serverOptions, '--name', oddName, '--persistent', '--label', 'a=b'],
    { input: 'tj_secret\nmore\n' },
  );
  expect([status, stderr]).toEqual([
    0,
    `trainyard: The worker ${version} is in ${machine.bin}/trainyard-worker\n`,
  ]);
  expect(stdout).toBe(
    `started --orchestrator-url=http://yard:8001 --name ${oddName} --persistent --label a=b token=tj_secret\nstdin=\n`,
  );
  expect(machine.calls().join()).not.toContain('tj_secret');
  expect(machine.installed()).toEqual(['trainyard-worker']);
});

test('accepts a worker name that looks like an option', () => {
  const machine = openMachine();
  const { stdout } = machine.run([
    ...serverOptions,
    '--name',
    '--dir=/x',
    '--label',
    '--install-only',
    '--name=--dir=/y',
  ]);
  expect(stdout).toContain('--name --dir=/x --label --install-only --name=--dir=/y');
  expect(machine.installed()).toEqual(['trainyard-worker']);
});

const commandOptions = workerCommand({} as Parameters<typeof workerCommand>[0]).options;
const longNames = (options: readonly Option[]): readonly string[] =>
  options.flatMap(({ long }) => long ?? []);

test('passes every option that takes a value with its value, even a value that looks like an option', () => {
  const optionsWithValue = longNames(commandOptions.filter(({ required }) => required));
  // The script also reads these options itself, and passes each of them as one word.
  const readOptions = ['--orchestrator-url', '--pin', '--ca-file'];
  const otherOptions = optionsWithValue.filter(option => !readOptions.includes(option));
  expect(otherOptions).toContain('--allow-config-scripts');
  const machine = openMachine();
  const { status, stdout } = machine.run([
    ...serverOptions,
    ...otherOptions.flatMap(option => [option, '--install-only']),
  ]);
  expect(status).toBe(0);
  for (const option of otherOptions) expect(stdout).toContain(`${option} --install-only`);
  for (const option of optionsWithValue)
    expect(openMachine().run([...serverOptions, option])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`${option} needs a value`),
    });
});

test('passes flags to the worker without taking the next word as a value', () => {
  const flags = longNames(commandOptions.filter(({ required, optional }) => !required && !optional));
  expect(flags).toContain('--persistent');
  const machine = openMachine();
  const { stdout } = machine.run([...serverOptions, ...flags.flatMap(flag => [flag, '--name', 'rig'])]);
  for (const flag of flags) expect(stdout).toContain(`${flag} --name rig`);
});

test('downloads the worker only when the installed worker is missing or different', () => {
  const machine = openMachine();
  machine.run(serverOptions);
  expect(machine.calls()).toHaveLength(1);
  expect(machine.run(serverOptions)).toMatchObject({ status: 0, stderr: '' });
  expect(machine.calls()).toHaveLength(1);
  writeFileSync(join(machine.bin, 'trainyard-worker'), 'an older one');
  machine.run(serverOptions);
  expect(readFileSync(join(machine.bin, 'trainyard-worker'), 'utf8')).toBe(executable);
});

test('installs into the folder of --dir, and starts nothing with --install-only', () => {
  const machine = openMachine();
  const { stdout, status } = machine.run([
    ...serverOptions,
    '--install-only',
    '--dir',
    `${machine.home}/a b`,
  ]);
  expect([status, stdout, readdirSync(`${machine.home}/a b`)]).toEqual([0, '', ['trainyard-worker']]);
});

test.each([
  ['curl', ['--pin', 'sha256:Ab+/=', '--pin=sha256:CD='], '-k --pinnedpubkey sha256//Ab+/=;sha256//CD= '],
  ['curl', ['--pin', 'sha256:Ab+/=,sha256:CD='], '-k --pinnedpubkey sha256//Ab+/=;sha256//CD= '],
  ['curl', ['--ca-file', '/ca.pem'], '--cacert /ca.pem '],
  ['curl', ['--ssl-no-verify'], '-k '],
  ['wget', ['--pin', 'sha256:Ab+/='], '--no-check-certificate --pinnedpubkey=sha256//Ab+/= '],
  ['wget', ['--ca-file', '/ca.pem'], '--ca-certificate=/ca.pem '],
  ['wget', ['--ssl-no-verify'], '--no-check-certificate '],
] as const)('passes server identity options to %s: %j', (fetcher, args, options) => {
  const machine = openMachine({ fetcher });
  expect(machine.run([...serverOptions, ...args]).status).toBe(0);
  const [call = ''] = machine.calls();
  expect(call.startsWith(`${fetcher} ${options}`)).toBe(true);
  expect(call.endsWith(`http://yard:8001/agent/${executableName}`)).toBe(true);
});

describe('joinScript', () => {
  const programs = [
    { name: bundleName, sha256: sha256(bundle) },
    { name: executableName, sha256: sha256(executable) },
  ];
  const script = joinScript(version, programs, { url: 'https://yard:8001', pin: 'sha256:Ab+/=' });

  test('adds the server URL and pin to the options of the worker, and reads the token from the environment', () => {
    const machine = openMachine({ script });
    const { status, stdout } = machine.run(['--name', 'rig-1', '--persistent'], { token: 'tj_secret' });
    expect([status, stdout]).toEqual([
      0,
      'started --name rig-1 --persistent --orchestrator-url=https://yard:8001 --pin=sha256:Ab+/= token=tj_secret\nstdin=\n',
    ]);
    expect(machine.calls().join()).toContain('-k --pinnedpubkey sha256//Ab+/= ');
  });

  test('prefers the orchestrator URL of the command line to the URL in the script', () => {
    const { stdout } = openMachine({ script }).run(['--orchestrator-url', 'https://other'], {
      token: 'tj_x',
    });
    expect(stdout).toContain('started --orchestrator-url=https://other token=tj_x');
    expect(stdout).not.toContain('--pin');
  });

  test('removes the token from the environment of the programs that it runs', () => {
    const machine = openMachine({ script });
    machine.run(['--install-only'], { token: 'tj_secret' });
    expect(machine.environments()).not.toContain('tj_secret');
  });

  test('refuses to install over plain HTTP, and prints a remedy', () => {
    const plainHttpScript = joinScript(version, programs, { url: 'http://yard:8001', pin: null });
    const machine = openMachine({ script: plainHttpScript });
    const { status, stdout, stderr } = machine.run(['--name', 'rig-1'], { token: 'tj_secret' });
    expect([status, stdout, machine.installed()]).toEqual([2, '', []]);
    expect(stderr).toContain('cannot be verified. Copy the whole join command from the panel');
  });

  test('quotes the server URL, because the URL comes from the request', () => {
    const scriptWithOddUrl = joinScript(version, programs, { url: 'https://y$(touch broken)', pin: null });
    const machine = openMachine({ script: scriptWithOddUrl });
    expect(machine.run([], { token: 'tj_x' }).stdout).toContain(
      '--orchestrator-url=https://y$(touch broken) ',
    );
    expect(existsSync(join(machine.home, 'broken'))).toBe(false);
  });

  // The program `script` of util-linux opens the terminal.
  const hasTerminal = spawnSync('script', ['--version']).status === 0;
  test.skipIf(!hasTerminal)('asks a person at the terminal for a missing token', () => {
    const machine = openMachine({ script });
    const inTerminal = (answer: string): string => machine.runInTerminal(['--name', 'rig-1'], answer);
    const transcript = inTerminal('tj_typed');
    expect(transcript).toContain('Join token (leave empty if this machine has joined before): ');
    expect(transcript).toContain(
      'started --name rig-1 --orchestrator-url=https://yard:8001 --pin=sha256:Ab+/= token=tj_typed',
    );
    expect(inTerminal('')).toMatch(/started .* token=\s/);
    expect(machine.runInTerminal(['--worker-token-file', '/x'], '')).not.toContain('Join token');
  });
});

describe('failing installations', () => {
  test.each<
    readonly [description: string, machine: Machine, args: readonly string[], status: number, message: string]
  >([
    ['no orchestrator URL', {}, [], 2, 'Say where the orchestrator is'],
    [
      'an orchestrator URL with another protocol',
      {},
      ['--orchestrator-url', 'ftp://x'],
      2,
      'Say where the orchestrator is',
    ],
    ['an option without its value', {}, [...serverOptions, '--pin'], 2, '--pin needs a value'],
    ['a pin in another format', {}, [...serverOptions, '--pin', 'abc'], 2, '--pin takes sha256:...'],
    [
      'no token after --token-stdin',
      {},
      ['--token-stdin', ...serverOptions],
      2,
      'Standard input contains no token',
    ],
    ['neither curl nor wget', { fetcher: null }, serverOptions, 1, 'neither curl nor wget'],
    [
      'no program for checksums',
      { missingTools: ['sha256sum'] },
      serverOptions,
      1,
      'no sha256sum, shasum or openssl',
    ],
    [
      'an unreachable orchestrator',
      { files: {} },
      serverOptions,
      1,
      'could not be downloaded from http://yard:8001/agent/',
    ],
    [
      'a different program',
      { files: { [executableName]: 'evil' } },
      serverOptions,
      1,
      'is not the worker of this script',
    ],
    [
      'half of the program',
      { files: { [executableName]: executable.slice(0, 40) } },
      serverOptions,
      1,
      'is not the worker',
    ],
    [
      'another platform without Node',
      { platform: 'Darwin arm64' },
      serverOptions,
      1,
      'needs Node 22.19 or newer: install it',
    ],
    [
      'another platform with an old Node',
      { platform: 'Linux aarch64', node: '18.1.0' },
      serverOptions,
      1,
      'this machine has v18.1.0',
    ],
    [
      'an orchestrator without worker programs',
      { script: scriptOf([]) },
      serverOptions,
      1,
      'has no worker for this machine',
    ],
  ])('installs nothing and explains the error: %s', (_case, machine, args, status, message) => {
    const opened = openMachine(machine);
    const result = opened.run(args);
    expect(result.stderr).toContain(message);
    expect([result.status, result.stdout, opened.installed()]).toEqual([status, '', []]);
  });

  test('keeps the installed worker when the downloaded program has a wrong hash', () => {
    const machine = openMachine({ files: { [executableName]: 'evil' } });
    mkdirSync(machine.bin, { recursive: true });
    writeFileSync(join(machine.bin, 'trainyard-worker'), 'an older one');
    expect(machine.run(serverOptions).status).toBe(1);
    expect(machine.installed()).toEqual(['trainyard-worker']);
    expect(readFileSync(join(machine.bin, 'trainyard-worker'), 'utf8')).toBe('an older one');
  });
});

test.each([
  ['Linux aarch64', 'trainyard-worker-linux-arm64'],
  ['Darwin arm64', 'trainyard-worker-darwin-arm64'],
] as const)('installs the executable for %s', (platform, name) => {
  const program = `${executable}# ${name}\n`;
  const opened = openMachine({
    platform,
    files: { [name]: program, [bundleName]: bundle, [executableName]: executable },
    script: scriptOf([
      [name, program],
      [bundleName, bundle],
      [executableName, executable],
    ]),
  });
  expect(opened.run(serverOptions)).toMatchObject({ status: 0 });
  expect(opened.installed()).toEqual(['trainyard-worker']);
  expect(readFileSync(join(opened.bin, 'trainyard-worker'), 'utf8')).toBe(program);
});

describe('installing the bundle for an existing Node', () => {
  const files = { [bundleName]: bundle, [executableName]: executable };
  test.each<readonly [description: string, machine: Machine]>([
    ['on another platform', { platform: 'Darwin arm64', node: '24.1.0' }],
    ['when the orchestrator has no executable', { node: '24.1.0', script: scriptOf([[bundleName, bundle]]) }],
  ])('installs the bundle %s', (_case, machine) => {
    const opened = openMachine({ ...machine, files });
    expect(opened.run(serverOptions)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('started') as string,
    });
    expect(opened.installed()).toEqual(['trainyard-worker', 'trainyard-worker.mjs']);
    expect(readFileSync(join(opened.bin, 'trainyard-worker'), 'utf8')).toBe(bundle);
  });

  test('installs the bundle when the executable cannot run, for example without its libraries', () => {
    const broken = '#!/bin/sh\necho "libstdc++.so.6: cannot open shared object file" >&2; exit 127\n';
    const opened = openMachine({
      node: '24.1.0',
      files: { ...files, [executableName]: broken },
      script: scriptOf([
        [bundleName, bundle],
        [executableName, broken],
      ]),
    });
    const { status, stderr } = opened.run(serverOptions);
    expect(status).toBe(0);
    expect(stderr).toContain('libstdc++.so.6: cannot open shared object file');
    expect(stderr).toContain('trying the one for Node');
    expect(opened.installed()).toEqual(['trainyard-worker', 'trainyard-worker.mjs']);
  });
});

test.each(['sh', 'dash', 'bash'])('parses the install script with %s', shell => {
  const { error, status } = spawnSync(shell, ['-n'], { input: defaultScript });
  // Skip a shell that is not installed on this machine.
  expect(error === undefined ? status : 0).toBe(0);
});

test('does nothing when the script is truncated at any position', () => {
  const machine = openMachine();
  const completeLength = defaultScript.lastIndexOf('}');
  // Truncates after every 151st character, and after each of the last 25 characters.
  const lengths = [
    ...Array.from({ length: Math.floor(completeLength / 151) }, (_, index) => index * 151),
    ...Array.from({ length: 25 }, (_, index) => completeLength - index),
  ];
  for (const length of lengths) {
    const { stdout } = machine.run(serverOptions, { script: defaultScript.slice(0, length) });
    expect([length, stdout, machine.calls(), machine.installed()]).toEqual([length, '', [], []]);
  }
  expect(machine.run(serverOptions).status).toBe(0);
}, 30_000);
