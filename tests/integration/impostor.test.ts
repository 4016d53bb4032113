/**
 * An impostor listens on the port of a killed server. The command line and the desktop app must send it no token.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { startServer, temporaryFolder } from '../support/processes.ts';
import { startTestServer } from '../support/server.ts';
import { findRunning } from '../../main/desktop/own.ts';

/**
 * Starts a server that answers each call with success and a wrong proof, and records all requests. With `relayTo`, forwards
 * POST requests to that address instead, and returns the answers.
 */
async function startImpostor(port: number, relayTo: string | null = null) {
  const received: string[] = [];
  const server = createServer((request, response) => void answer(request).then(text => response.end(text)));
  const answer = async (request: IncomingMessage): Promise<string> => {
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.rawHeaders)}`);
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    received.push(body);
    if (relayTo === null || request.method !== 'POST') return JSON.stringify({ status: 'live', proof: '00' });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(relayTo + (request.url ?? ''), { method: 'POST', headers, body })).text();
  };
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { received, port: (server.address() as AddressInfo).port };
}

async function startAndKillServer() {
  const server = await startServer();
  const { dataDir } = server;
  const url = readFileSync(join(dataDir, 'url'), 'utf8').trim();
  server.kill('SIGKILL');
  await server.exited;
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  return { dataDir, port: Number(new URL(url).port), token };
}

test('never sends the admin token to an impostor on the port of a killed server', async () => {
  const { dataDir, port, token } = await startAndKillServer();
  const { received } = await startImpostor(port);
  for (const command of [['jobs', 'submit', 'x'], ['doctor'], ['tokens', 'list']]) {
    const run = await runTrainyard([...command, '--data-dir', dataDir]);
    expect(run.code).not.toBe(0);
  }
  const run = await runTrainyard(['jobs', 'list', '--data-dir', dataDir]);
  expect(run).toMatchObject({ code: 6, out: '' });
  expect(run.err).toMatch(/No token was sent.*trainyard server/s);
  expect(received.length).toBeGreaterThan(0);
  expect(received.join('\n')).not.toContain(token);
  expect(await findRunning(dataDir)).toBeNull();
  expect(received.join('\n')).not.toContain(token);
});

test('never sends a token from the environment to an impostor whose address the data folder names', async () => {
  const { dataDir, port } = await startAndKillServer();
  const { received } = await startImpostor(port);
  const run = await runTrainyard(['jobs', 'list', '--data-dir', dataDir], {
    env: { ADMIN_TOKEN: 'tk_mine' },
  });
  expect(run).toMatchObject({ code: 6 });
  expect(received.join('\n')).not.toContain('tk_mine');
});

test('rejects an impostor that relays the proof of a real server on another port', async () => {
  const realServer = await startTestServer();
  onTestFinished(() => realServer.close());
  const { received, port } = await startImpostor(0, realServer.url);
  const copy = temporaryFolder();
  for (const file of ['admin-token', 'audit-key']) cpSync(join(realServer.dataDir, file), join(copy, file));
  writeFileSync(join(copy, 'url'), `http://127.0.0.1:${port}\n`, { mode: 0o600 });
  expect(await runTrainyard(['jobs', 'list', '--data-dir', copy])).toMatchObject({ code: 6 });
  expect(received.join('\n')).not.toContain(realServer.adminToken);
  expect(received.join('\n')).toContain('/api/prove');
});

test('sends an explicit token to an explicit address without a proof', async () => {
  const { received, port } = await startImpostor(0);
  await runTrainyard(['jobs', 'list', '--url', `http://127.0.0.1:${port}`, '--token', 'tk_mine']);
  expect(received.join('\n')).toContain('tk_mine');
});

test('accepts the real server in the command line and in the desktop app', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  expect(await runTrainyard(['jobs', 'list', '--data-dir', server.dataDir])).toMatchObject({ code: 0 });
  expect(await findRunning(server.dataDir)).toMatchObject({ url: server.url });
});
