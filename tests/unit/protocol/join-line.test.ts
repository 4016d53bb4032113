import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  addressArguments,
  joinLine,
  type Joining,
  pipedLine,
  scriptLine,
  shortLine,
  workerArguments,
} from '../../../protocol/join-line.ts';
import { openFolder } from '../../support/fleet-bench.ts';

const joining: Joining = {
  url: 'http://yard:8001',
  pin: null,
  token: 'tj_secret',
  name: 'rig-1',
  persistent: false,
};
/** The install script of these tests. It prints its stdin, its name and its arguments. */
const script = 'cat; printf "%s\\n" "$0" "$@"\n';
const sha256 = createHash('sha256').update(script).digest('hex');

/** Runs the line in a shell with a fake `curl`, which prints `downloaded`, and a fake `sudo`, which prints `as root`. */
function runLine(line: string, downloaded = script) {
  const folder = openFolder();
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'script'), downloaded);
  writeFileSync(join(folder, 'bin/curl'), `#!/bin/sh\ncat '${folder}/script'\n`, { mode: 0o755 });
  writeFileSync(join(folder, 'bin/sudo'), '#!/bin/sh\necho as root\nexec "$@"\n', { mode: 0o755 });
  const env = { PATH: `${folder}/bin:/usr/bin:/bin` };
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { env, encoding: 'utf8', input: '' });
  return [status, stdout, stderr];
}

test('runs the install script with its arguments, and with the join token on stdin', () => {
  const args = ['--token-stdin', '--orchestrator-url', 'http://yard:8001', '--name', 'rig-1'];
  expect(runLine(joinLine(joining, sha256))).toEqual([
    0,
    ['tj_secret', 'trainyard', ...args, ''].join('\n'),
    '',
  ]);
});

test('passes a name that looks like an option as the value of --name', () => {
  expect(workerArguments({ url: 'http://yard:8001', pin: null, name: '--dir=/x y', persistent: false })).toBe(
    "--orchestrator-url http://yard:8001 '--name=--dir=/x y'",
  );
});

test('refuses to run a script that differs from the expected hash or is missing', () => {
  const message = 'The install script does not match this command: nothing was done\n';
  for (const otherScript of [`${script}# more\n`, script.slice(0, -8), ''])
    expect(runLine(joinLine(joining, sha256), otherScript)).toEqual([1, '', message]);
});

test('exits with the exit code of the install script', () => {
  const failing = 'exit 7\n';
  const hash = createHash('sha256').update(failing).digest('hex');
  expect(runLine(joinLine(joining, hash), failing)[0]).toBe(7);
});

test('passes no token when none is given, and runs the script as root with asRoot', () => {
  const line = scriptLine(joining, { sha256, args: '--install-only', asRoot: true });
  expect(runLine(line)).toEqual([0, 'as root\ntrainyard\n--install-only\n', '']);
});

test.each([
  [{ url: 'http://yard:8001', pin: null }, 'curl -fsS http://yard:8001/agent/install.sh'],
  [{ url: 'http://[fe80::1]:8001', pin: null }, "curl -fsSg 'http://[fe80::1]:8001/agent/install.sh'"],
  [
    { url: 'https://[::1]:8001', pin: 'sha256:Ab+/=' },
    "curl -fsSgk --pinnedpubkey sha256//Ab+/= 'https://[::1]:8001/agent/install.sh'",
  ],
])('passes the pin and the URL of the server to curl: %o', (server, expected) => {
  expect(scriptLine(server, { sha256, args: '' })).toContain(`(s=$(${expected}) && `);
});

const secure: Joining = { ...joining, url: 'https://yard:8001', pin: 'sha256:Ab+/=', persistent: true };

test('builds a short command only for HTTPS, because curl cannot verify a server over plain HTTP', () => {
  expect(shortLine(joining)).toBeNull();
  expect(shortLine(secure)).toBe(
    'curl -fsSk --pinnedpubkey sha256//Ab+/= https://yard:8001/join | JOIN_TOKEN=tj_secret sh -s -- --name rig-1 --persistent',
  );
  expect(shortLine({ ...secure, url: 'https://[::1]:8001', pin: null, persistent: false })).toBe(
    "curl -fsSg 'https://[::1]:8001/join' | JOIN_TOKEN=tj_secret sh -s -- --name rig-1",
  );
});

test('passes the token of a short command only in the environment of the script', () => {
  const printToken = 'printf "%s\\n" "$JOIN_TOKEN" "$@"; env | grep -c tj_secret\n';
  expect(runLine(shortLine(secure) ?? '', printToken)).toEqual([
    0,
    'tj_secret\n--name\nrig-1\n--persistent\n1\n',
    '',
  ]);
  const asRoot = pipedLine(secure, { args: 'install-service', token: 'tj_secret', asRoot: true });
  expect(asRoot).toContain('| JOIN_TOKEN=tj_secret sudo --preserve-env=JOIN_TOKEN sh -s -- install-service');
  expect(pipedLine(secure, { args: '', asRoot: true })).toMatch(/\| sudo sh$/);
});

test('runs no script when a short command downloads nothing', () => {
  expect(runLine(shortLine(secure) ?? '', '')).toEqual([0, '', '']);
});

test('quotes each value as one shell word', () => {
  const special = { ...joining, pin: 'sha256:Ab+/=', name: "it's $HOME", persistent: true };
  expect(addressArguments(special)).toBe('--orchestrator-url http://yard:8001 --pin sha256:Ab+/=');
  expect(workerArguments(special)).toBe(`${addressArguments(special)} --name 'it'\\''s $HOME' --persistent`);
});
