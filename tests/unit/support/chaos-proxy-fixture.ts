import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterEach, beforeEach } from 'vitest';
import { textOf } from '../../support/chaos-proxy-exchange.ts';
import { type ChaosProxy, startChaosProxy } from '../../support/chaos-proxy.ts';
import { createNotices, type Notices } from '../../support/notices.ts';

/** The server behind the proxy. It records each call as `method path body`. */
export interface ProxiedServer {
  readonly calls: readonly string[];
  /** Streams that are open from the server's point of view. */
  readonly streams: ReadonlySet<http.ServerResponse>;
  /** Returns the number of open connections. */
  readonly connections: () => number;
  readonly waitFor: Notices['waitFor'];
  /** Writes the text to every open stream. */
  push(text: string): void;
  readonly url: string;
}

/** A client on a raw socket. It records the received text and how the connection ends. */
export interface RawClient {
  readonly text: () => string;
  /** The end of the connection; null while it is open. */
  readonly ended: () => 'end' | 'reset' | null;
  readonly waitFor: Notices['waitFor'];
  send(text: string): void;
  destroy(): void;
}

export interface ProxyFixture {
  readonly server: ProxiedServer;
  readonly proxy: ChaosProxy;
  /** Posts a text and returns the response as `status text`. */
  post(path: string, body?: string): Promise<string>;
  connect(): Promise<RawClient>;
  /** Opens a stream through the proxy and waits for its first bytes. */
  stream(): Promise<RawClient>;
}

/**
 * Provides each test with a proxy in front of a server. The server answers /stream with a stream, and every other path
 * with the body of the request.
 */
export function useProxyFixture(): ProxyFixture {
  let server: (ProxiedServer & { close(): Promise<void> }) | null = null;
  let proxy: ChaosProxy | null = null;
  const clients: RawClient[] = [];
  const required = <T>(value: T | null): T => {
    if (value === null) throw new Error('the proxy and its server exist only within a test');
    return value;
  };

  beforeEach(async () => {
    const startedServer = await startProxiedServer();
    server = startedServer;
    proxy = await startChaosProxy(() => startedServer.url);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await proxy?.close();
    await server?.close();
  });

  const connect = async (): Promise<RawClient> => {
    const client = await openRawClient(Number(new URL(required(proxy).url).port));
    clients.push(client);
    return client;
  };
  return {
    get server() {
      return required(server);
    },
    get proxy() {
      return required(proxy);
    },
    async post(path, body = '{}') {
      const answer = await fetch(required(proxy).url + path, {
        method: 'POST',
        body,
        headers: { connection: 'close' },
      });
      return `${answer.status} ${await answer.text()}`;
    },
    connect,
    async stream() {
      const client = await connect();
      client.send('GET /stream HTTP/1.1\r\nhost: server\r\n\r\n');
      await client.waitFor('the stream', () => client.text().includes(': open'));
      return client;
    },
  };
}

async function startProxiedServer(): Promise<ProxiedServer & { close(): Promise<void> }> {
  const notices = createNotices();
  const calls: string[] = [];
  const streams = new Set<http.ServerResponse>();
  const sockets = new Set<net.Socket>();
  const server = http.createServer((request, response) => {
    void textOf(request).then(text => {
      calls.push(`${request.method} ${request.url} ${text}`);
      notices.changed();
      if (request.url !== '/stream') {
        response.end(text);
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': open\n\n');
      streams.add(response);
      notices.changed();
      response.on('close', () => {
        streams.delete(response);
        notices.changed();
      });
    });
  });
  server.on('connection', socket => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      notices.changed();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    calls,
    streams,
    connections: () => sockets.size,
    waitFor: notices.waitFor,
    push(text) {
      for (const stream of streams) stream.write(text);
    },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function openRawClient(port: number): Promise<RawClient> {
  const notices = createNotices();
  let text = '';
  let ended: ReturnType<RawClient['ended']> = null;
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('data', chunk => {
    text += chunk.toString('latin1');
    notices.changed();
  });
  const recordEnd = (how: 'end' | 'reset') => (): void => {
    ended ??= how;
    notices.changed();
  };
  socket.on('error', recordEnd('reset'));
  socket.on('end', recordEnd('end'));
  return {
    text: () => text,
    ended: () => ended,
    waitFor: notices.waitFor,
    send: out => void socket.write(out),
    destroy: () => socket.destroy(),
  };
}
