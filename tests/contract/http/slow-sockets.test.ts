// See docs/internals/faults.md, S13. Timeouts are short in these tests.
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { type SocketLimits, socketLimits } from '../../../main/http/listener/http-listener.ts';
import { valueOf } from '../../support/server.ts';
import { followEvents, openServer } from './settings-bench.ts';
import { networkAddress, openTlsServer, portOf } from './tls-bench.ts';

// Default of each timeout, so long that no client exceeds it by accident. A test shortens the timeouts that it checks.
const generousMs = 60_000;
const limits = (overrides: Partial<SocketLimits>): SocketLimits => ({
  headersMs: generousMs,
  requestMs: generousMs,
  idleMs: generousMs,
  checkMs: 50,
  maxWaiting: 5_000,
  ...overrides,
});

interface SlowConnection {
  readonly socket: Socket;
  // Resolves with all received data when the server has closed the connection.
  readonly closed: Promise<string>;
  isClosed(): boolean;
}

// Connects, sends `text`, and then sends nothing more.
function openSlow(port: number, text = '', host = '127.0.0.1'): Promise<SlowConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host);
    let received = '';
    let isClosed = false;
    const closed = new Promise<string>(done => {
      socket.once('close', () => {
        isClosed = true;
        done(received);
      });
    });
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    socket.once('error', reject);
    socket.once('connect', () => {
      // Ignore the error of a socket that is reset while it writes.
      socket.removeListener('error', reject).on('error', () => undefined);
      if (text !== '') socket.write(text);
      resolve({ socket, closed, isClosed: () => isClosed });
    });
    onTestFinished(() => void socket.destroy());
  });
}

const openMany = (
  count: number,
  port: number,
  text?: string,
  host?: string,
): Promise<readonly SlowConnection[]> =>
  Promise.all(Array.from({ length: count }, () => openSlow(port, text, host)));

test.each([
  ['send nothing', ''],
  ['never end their headers', 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nX-'],
])('closes 300 connections that %s, without an effect on other connections', async (_what, text) => {
  const server = await openServer({ socketLimits: limits({ headersMs: 500 }) });
  const stream = await followEvents(server, server.url);
  const slow = await openMany(300, portOf(server), text);
  expect(valueOf(await server.admin.call(workersApi.list)).total).toBe(0);
  const answers = await Promise.all(slow.map(({ closed }) => closed));
  expect(answers.every(answer => answer.startsWith('HTTP/1.1 408 '))).toBe(true);
  // The stream was requested in time, so it outlives all these timeouts.
  expect(stream.isOver()).toBe(false);
  await server.createWorker({ name: 'rig-1' });
  await server.watch.until('an event', event => (event.kind === 'worker' ? event : null));
});

test.each([
  ['send nothing', ''],
  ['start a handshake', '\u0016\u0003\u0001'],
])('closes 300 TLS connections that %s', async (_what, text) => {
  const server = await openTlsServer({ socketLimits: limits({ headersMs: 500 }) });
  const slow = await openMany(300, portOf(server), text, networkAddress);
  await server.createWorker({ name: 'rig-1' });
  expect(await Promise.all(slow.map(({ closed }) => closed))).toEqual(slow.map(() => ''));
});

test('waits for a body until the timeout of the whole request', async () => {
  const server = await openServer({ socketLimits: limits({ headersMs: 300, requestMs: 900 }) });
  const head =
    `POST /api/admin/workers HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${server.adminToken}\r\n` +
    'Content-Type: application/json\r\nContent-Length: 16\r\n\r\n';
  const unfinished = await openSlow(portOf(server), head);
  const completedLate = await openSlow(portOf(server), head);
  const silentConnection = await openSlow(portOf(server));
  await silentConnection.closed;
  expect([unfinished.isClosed(), completedLate.isClosed()]).toEqual([false, false]);
  completedLate.socket.write('{"name":"rig-1"}');
  expect(await unfinished.closed).toMatch(/^HTTP\/1\.1 408 /);
  expect(valueOf(await server.admin.call(workersApi.list)).workers.map(({ name }) => name)).toEqual([
    'rig-1',
  ]);
});

test('closes the connection of an answered request whose body does not arrive', async () => {
  const server = await openServer({ socketLimits: limits({ requestMs: 600 }) });
  const head = 'POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 16\r\n\r\n';
  const unfinished = await openSlow(portOf(server), head);
  expect(await unfinished.closed).toMatch(/^HTTP\/1\.1 404 /);
});

describe('limit on connections without a request', () => {
  test('closes the oldest waiting connections beyond the limit', async () => {
    const server = await openServer({ socketLimits: limits({ maxWaiting: 50 }) });
    const slow: SlowConnection[] = [];
    for (let count = 0; count < 60; count += 1)
      slow.push(await openSlow(portOf(server), 'GET / HTTP/1.1\r\n'));
    // Complete requests are served, and do not count as waiting connections.
    for (let count = 0; count < 20; count += 1)
      await fetch(`${server.url}/health/live`, { headers: { connection: 'close' } });
    await Promise.all(slow.slice(0, 10).map(({ closed }) => closed));
    expect(slow.slice(15).some(({ isClosed }) => isClosed())).toBe(false);
  });

  test('does not count an open stream as a waiting connection', async () => {
    const server = await openServer({ socketLimits: limits({ maxWaiting: 50 }) });
    const stream = await followEvents(server, server.url);
    const slow = await openMany(120, portOf(server));
    await Promise.race(slow.map(({ closed }) => closed));
    expect(stream.isOver()).toBe(false);
    await server.createWorker({ name: 'rig-1' });
  });

  test('counts waiting TLS connections separately from waiting plain connections', async () => {
    const server = await openTlsServer({ socketLimits: limits({ maxWaiting: 20 }) });
    const plainConnections = await openMany(15, portOf(server));
    const slow = await openMany(40, portOf(server), '\u0016', networkAddress);
    await Promise.all(slow.slice(0, 10).map(({ closed }) => closed));
    expect(plainConnections.some(({ isClosed }) => isClosed())).toBe(false);
  });
});

test('closes an idle connection after its request', async () => {
  const server = await openServer({ socketLimits: limits({ idleMs: 100 }) });
  const idle = await openSlow(portOf(server), 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  expect(await idle.closed).toMatch(/^HTTP\/1\.1 200 /);
});

describe('connection of a heartbeat', () => {
  const register = async (idleMs: number) => {
    const server = await openServer({ socketLimits: limits({ idleMs }) });
    const { token } = await server.createWorker({ name: 'rig-1' });
    const post = (path: string, body: object) => {
      const text = JSON.stringify(body);
      const head = `POST /api/workers/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Worker-Token: ${token}\r\nContent-Type: application/json`;
      return openSlow(portOf(server), `${head}\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    };
    const registration = await post('register', { protocol: 2, persistent: true, gpu_count: 0 });
    await answerOf(registration);
    return { post, registration };
  };
  const answerOf = ({ socket }: SlowConnection): Promise<string> =>
    new Promise(resolve => socket.once('data', resolve));
  const heartbeat = { status: 'idle' };

  test('closes a heartbeat connection when the idle timeout is shorter than the heartbeat interval', async () => {
    const { post, registration } = await register(50);
    expect(await registration.closed).toMatch(/^HTTP\/1\.1 200 [^{]*Connection: keep-alive\r\n/s);
    expect(await (await post('heartbeat', heartbeat)).closed).toMatch(
      /^HTTP\/1\.1 200 [^{]*Connection: close\r\n/s,
    );
  });

  test('keeps a heartbeat connection when the next heartbeat can use it', async () => {
    const { post } = await register(generousMs);
    expect(await answerOf(await post('heartbeat', heartbeat))).toMatch(
      /^HTTP\/1\.1 200 [^{]*Connection: keep-alive\r\n/s,
    );
  });
});

test('refuses headers that are too long', async () => {
  const server = await openServer();
  const head = `GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`;
  expect(await (await openSlow(portOf(server), head)).closed).toMatch(/^HTTP\/1\.1 431 /);
});

test('by default gives large bodies enough time on slow lines, but allows at most 30 s for the headers', () => {
  // A body of 5 MB at 140 kbit/s.
  expect(socketLimits.requestMs).toBeGreaterThanOrEqual((5_000_000 * 8) / 140);
  expect(socketLimits.headersMs).toBeLessThanOrEqual(30_000);
  // The server checks its timeouts at least twice within the timeout for headers.
  expect(socketLimits.checkMs).toBeLessThanOrEqual(socketLimits.headersMs / 2);
});
