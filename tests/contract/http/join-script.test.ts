// Real curl and a real shell run the join commands. A shell script replaces the worker program.
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { agentApi, programNames } from '../../../protocol/agent-api.ts';
import { version } from '../../../protocol/version.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { type TestServer, type TestServerOptions, valueOf } from '../../support/server.ts';
import { makeIdentity } from '../../support/tls/identity.ts';
import { callTls, networkUrl, openTlsServer } from './tls-bench.ts';

const worker = `#!/bin/sh
if [ "$1" = --version ]; then echo ${version}; else echo "started $* token=$SIMPLETUNER_WORKER_TOKEN"; fi
`;

async function openServerWithPrograms(options: TestServerOptions = {}): Promise<TestServer> {
  const folder = openFolder();
  for (const name of programNames) writeFileSync(join(folder, name), worker);
  return openTlsServer({ ...options, workerPrograms: folder });
}

/** Creates a worker and returns its join command. The command depends on the URL that the API is called at. */
async function createJoinCommand(server: TestServer, apiUrl = networkUrl(server)) {
  const { id } = await server.createWorker({ name: 'rig-1' });
  const path = workersApi.createJoinToken.path.replace(':id', id);
  const init = { method: 'POST', headers: { authorization: `Bearer ${server.adminToken}` }, body: {} };
  const headers = { ...init.headers, 'content-type': 'application/json' };
  const answer = apiUrl.startsWith('https')
    ? (await callTls(apiUrl + path, init)).body
    : await (await fetch(apiUrl + path, { method: 'POST', headers, body: '{}' })).text();
  const joinToken = workersApi.createJoinToken.reply.parse(JSON.parse(answer));
  const { install_command: longCommand, short_command: shortCommand } = joinToken;
  return {
    token: joinToken.join_token,
    command: shortCommand ?? longCommand ?? '',
    longCommand: longCommand ?? '',
    shortCommand,
  };
}

/** Runs a command on a machine with an empty home folder. */
function runCommand(command: string) {
  const home = openFolder();
  return new Promise<{ readonly out: string; readonly err: string; readonly isInstalled: boolean }>(
    resolve => {
      const child = spawn('sh', ['-c', command], {
        env: { HOME: home, PATH: process.env['PATH'] },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const texts = { out: '', err: '' };
      child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.out += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.err += text));
      child.once('close', () => resolve({ ...texts, isInstalled: existsSync(join(home, '.local')) }));
    },
  );
}

test('joins over TLS with a short command that passes the token in no argument or URL', async () => {
  const server = await openServerWithPrograms();
  const { token, command } = await createJoinCommand(server);
  const pin = /sha256\/\/(\S+)/.exec(command)?.[1];
  expect(command).toBe(
    `curl -fsSk --pinnedpubkey sha256//${pin} ${networkUrl(server)}/join | JOIN_TOKEN=${token} sh -s -- --name rig-1 --persistent`,
  );
  expect(command.length).toBeLessThan(230);
  const { out, err } = await runCommand(command);
  expect(err).toContain(`The worker ${version} is in `);
  expect(out).toBe(
    `started --name rig-1 --persistent --orchestrator-url=${networkUrl(server)} --pin=sha256:${pin} token=${token}\n`,
  );
});

test('runs nothing when the key of the server does not match the pin', async () => {
  const server = await openServerWithPrograms();
  const { command } = await createJoinCommand(server);
  const otherIdentity = await makeIdentity();
  const wrongCommand = command.replace(/sha256\/\/\S+/, otherIdentity.pin.replace('sha256:', 'sha256//'));
  expect(wrongCommand).not.toBe(command);
  const { out, err, isInstalled } = await runCommand(wrongCommand);
  expect([out, isInstalled]).toEqual(['', false]);
  expect(err).toMatch(/^curl: \(\d+\) .*public key/);
});

test('verifies the hash of the install script over plain HTTP', async () => {
  const server = await openServerWithPrograms({ config: { isSecure: false } });
  const { token, command } = await createJoinCommand(server, server.url);
  const { install } = valueOf(await server.admin.call(agentApi.manifest)).sha256;
  expect(command).toContain(` in ${install}*) `);
  expect((await runCommand(command)).out).toContain(` --name rig-1 --persistent token=${token}\n`);
  const { out, err, isInstalled } = await runCommand(command.replace(install, 'f'.repeat(64)));
  expect([out, isInstalled]).toEqual(['', false]);
  expect(err).toContain('does not match this command: nothing was done');
});

test('serves a join script that installs nothing over plain HTTP', async () => {
  const server = await openServerWithPrograms();
  const { out, err, isInstalled } = await runCommand(`curl -fsS ${server.url}/join | JOIN_TOKEN=tj_x sh -s`);
  expect([out, isInstalled]).toEqual(['', false]);
  expect(err).toContain('This address is not encrypted');
});

test('puts the public address without a pin into the join script behind a proxy', async () => {
  const server = await openServerWithPrograms({
    config: {
      isSecure: false,
      publicUrl: 'https://yard.example.org',
      fixedBy: { 'public-url': '--public-url' },
    },
  });
  const script = async (headers: Readonly<Record<string, string>>): Promise<string> =>
    (await fetchText(server, headers))
      .split('\n')
      .find(line => line.includes('set -- "$@" --orchestrator-url')) ?? '';
  expect(await script({ host: 'yard.example.org' })).toMatch(
    / --orchestrator-url https:\/\/yard\.example\.org ;;$/,
  );
  expect(await script({ 'x-forwarded-proto': 'https' })).toContain(
    ` ${server.url.replace('http:', 'https:')} `,
  );
});

async function fetchText({ url }: TestServer, headers: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    get(`${url}/join`, { headers }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => resolve(text));
    }).once('error', reject);
  });
}

test('serves the join script with no-store, and returns program_not_built without worker programs', async () => {
  const server = await openServerWithPrograms();
  const { status, headers, body } = await callTls(`${networkUrl(server)}/join`);
  expect([status, headers['cache-control'], headers['content-type']]).toEqual([
    200,
    'no-store',
    'text/plain; charset=utf-8',
  ]);
  expect(body).toContain(`version='${version}'`);
  const emptyServer = await openTlsServer({ workerPrograms: openFolder() });
  expect(await callTls(`${networkUrl(emptyServer)}/join`)).toMatchObject({
    status: 404,
    body: expect.stringContaining('program_not_built') as string,
  });
});

test('also returns a long join command over TLS, into which scripts can insert worker options', async () => {
  const server = await openServerWithPrograms();
  const { token, longCommand, shortCommand } = await createJoinCommand(server);
  const { sha256, join_path: path } = valueOf(await server.admin.call(agentApi.manifest));
  expect([path, shortCommand === null, longCommand.includes(` in ${sha256.install}*) `)]).toEqual([
    '/join',
    false,
    true,
  ]);
  // docs/install.md adds a trainer in the same way.
  const { out } = await runCommand(longCommand.replace('--token-stdin', '$& install-service --trainer x=/y'));
  expect(out).toMatch(
    /^started install-service --trainer x=\/y --orchestrator-url=https:\S+ --pin=\S+ --name rig-1/,
  );
  expect(out).toContain(` token=${token}\n`);
});
