// Starts the server's HTTP listeners with the test's own request handler.
import type { RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type SocketLimits, socketLimits } from '../../../main/http/listener/http-listener.ts';
import { createListeners } from '../../../main/http/listener/listeners.ts';
import { createStreamRegistry } from '../../../main/http/listener/stream-registry.ts';
import { createRequestTracker } from '../../../main/http/listener/connections.ts';

async function listen(handler: RequestListener, limits: Partial<SocketLimits>) {
  const requests = createRequestTracker();
  const listeners = createListeners(handler, {
    streams: createStreamRegistry(),
    requests,
    limits: { ...socketLimits, checkMs: 20, ...limits },
    suspendedHandler: handler,
  });
  onTestFinished(() => listeners.closeAll());
  const { port } = await listeners.listen('127.0.0.1', 0, false);
  return { requests, port };
}

interface Caller {
  readonly socket: Socket;
  // Resolves with all received data when the connection has ended.
  readonly ended: Promise<string>;
}

// Connects and sends this text.
async function connectAndSend(port: number, text: string): Promise<Caller> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let received = '';
  socket.on('data', (part: string) => (received += part)).on('error', () => undefined);
  const ended = new Promise<string>(resolve => socket.once('close', () => resolve(received)));
  onTestFinished(() => void socket.destroy());
  await new Promise<void>(resolve => socket.once('connect', () => resolve()));
  socket.write(text);
  return { socket, ended };
}

const head = (method: string, more = ''): string => `${method} / HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`;
const contentLength = 'Content-Length: 2\r\n';

test('does not time out a complete request whose handler responds late', async () => {
  const finishResponses: (() => void)[] = [];
  let requested = Promise.withResolvers<void>();
  const { port } = await listen(
    (_request, response) => {
      finishResponses.push(() => response.setHeader('Connection', 'close').end('done'));
      requested.resolve();
    },
    { maxWaiting: 2, requestMs: 200 },
  );
  const posts: Caller[] = [];
  for (let count = 0; count < 4; count += 1) {
    requested = Promise.withResolvers();
    posts.push(await connectAndSend(port, `${head('POST', contentLength)}{}`));
    await requested.promise;
  }
  // Three idle connections exceed `maxWaiting`. The server closes the oldest idle connection, and no connection with a
  // request in progress.
  const idleConnections: Caller[] = [];
  for (let count = 0; count < 3; count += 1) idleConnections.push(await connectAndSend(port, ''));
  expect(await idleConnections[0]?.ended).toBe('');
  // Wait longer than `requestMs`.
  await new Promise(resolve => setTimeout(resolve, 300));
  for (const finish of finishResponses) finish();
  for (const { ended } of posts) expect(await ended).toMatch(/^HTTP\/1\.1 200 .*done/s);
});

test('answers 408 when the body of a pipelined request does not arrive', async () => {
  const { port } = await listen(
    (request, response) => void (request.method === 'GET' && response.end('first')),
    {
      requestMs: 200,
    },
  );
  const { ended } = await connectAndSend(port, head('GET') + head('POST', contentLength));
  expect(await ended).toMatch(/^HTTP\/1\.1 200 .*first.*HTTP\/1\.1 408 /s);
});

test('waits longer for a body when the request handler has lifted the body timeout', async () => {
  const { port, requests } = await listen(
    (request, response) => {
      if (request.url === '/unlimited') requests.liftBodyTimeout(request);
      request.resume().once('end', () => response.end('whole'));
    },
    { requestMs: 200 },
  );
  const unlimited = await connectAndSend(port, head('PUT', contentLength).replace(' / ', ' /unlimited '));
  const limited = await connectAndSend(port, head('PUT', contentLength));
  expect(await limited.ended).toMatch(/^HTTP\/1\.1 408 /);
  // Wait for `requestMs` once more.
  await new Promise(resolve => setTimeout(resolve, 200));
  unlimited.socket.end('{}');
  expect(await unlimited.ended).toMatch(/^HTTP\/1\.1 200 .*whole/s);
});
