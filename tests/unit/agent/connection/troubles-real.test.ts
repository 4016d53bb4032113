import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openNetwork, usualTrust } from '../../../../agent/connection/network.ts';
import { explainFailure } from '../../../../agent/connection/connection-warnings.ts';
import { createClient } from '../../../../protocol/client.ts';
import { workerApi } from '../../../../protocol/worker-api.ts';
import { closedPortUrl } from '../builders.ts';

/** Makes a real call, which fails with an error of Node. Returns the explanation of this error. */
async function explainCall(url: string, timeoutMs = 10_000): Promise<string> {
  const client = createClient({
    baseUrl: url,
    headers: () => ({ 'x-worker-token': 'wt_canary' }),
    timeoutMs,
    fetch: openNetwork(usualTrust),
  });
  const result = await client.call(workerApi.disconnect, { body: {} });
  if (result.ok) return 'no failure';
  const message = explainFailure(result.failure, url);
  expect(message).not.toContain('canary');
  return message;
}

async function listen(server: net.Server, scheme = 'http'): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    if (server instanceof http.Server || server instanceof https.Server) server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `${scheme}://127.0.0.1:${address.port}`;
}

const greet: http.RequestListener = (_request, response) => void response.end('{"success":true}');

describe('troubles over plain HTTP', () => {
  it('explains a refused connection when nothing listens on the port', async () => {
    const url = await closedPortUrl();
    expect(await explainCall(url)).toMatch(/^Connection refused: nothing listens on/);
    expect(await explainCall(url.replace('127.0.0.1', 'localhost'))).toMatch(/^Connection refused/);
  });

  it.each<[string, () => net.Server, RegExp]>([
    [
      'hangs up',
      () => net.createServer(socket => socket.destroy()),
      /^Connection lost: .*may use https:\/\/ there/,
    ],
    [
      'is not a web server',
      () => net.createServer(socket => socket.end('SSH-2.0-x\r\n')),
      /Check the address, the port/,
    ],
    [
      'is another web server',
      () => http.createServer((_, response) => response.end('hi')),
      /not answer like/,
    ],
  ])('explains the failure of a call to a server that %s', async (_title, createServer, expected) => {
    expect(await explainCall(await listen(createServer()))).toMatch(expected);
  });

  it('explains a timeout when the server never answers', async () => {
    const url = await listen(net.createServer());
    expect(await explainCall(url, 20)).toMatch(/^No answer from .* in time/);
  });

  it('suggests https when the server speaks TLS', async () => {
    const url = await listen(https.createServer({}, greet));
    expect(await explainCall(url)).toMatch(/^Connection lost: .*may use https:\/\/ there/);
  });
});

describe('troubles over TLS', () => {
  it('suggests http when the server does not speak TLS', async () => {
    const url = await listen(http.createServer(greet), 'https');
    expect(await explainCall(url)).toMatch(/^TLS failed for .*Try http:\/\/ instead/);
  });
});
