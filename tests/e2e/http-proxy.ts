import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP proxy in front of an orchestrator. It counts the open event streams, and simulates faults. */
export interface HttpProxy {
  readonly url: string;
  /** Returns the number of open event streams. */
  countStreams(): number;
  /** Breaks all connections, and refuses new ones until `reconnect`. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
  /** Responds with 404 to requests for a matching path from now on. */
  hide(path: RegExp): void;
  /** Returns the number of requests that got a 404 because of `hide`. */
  countHidden(): number;
  close(): Promise<void>;
}

export async function startHttpProxy(target: string): Promise<HttpProxy> {
  const streams = new Set<ServerResponse>();
  let hiddenPath: RegExp | null = null;
  let hiddenCount = 0;

  const forward = (incoming: IncomingMessage, response: ServerResponse): void => {
    const path = incoming.url ?? '/';
    if (hiddenPath?.test(path) === true) {
      hiddenCount += 1;
      response.writeHead(404).end();
      return;
    }
    if (path.startsWith('/api/events')) {
      streams.add(response);
      response.on('close', () => streams.delete(response));
    }
    const { method, headers } = incoming;
    const outgoing = request(new URL(path, target), { method, headers }, upstream => {
      response.writeHead(upstream.statusCode ?? 502, upstream.headers);
      upstream.pipe(response);
      upstream.on('error', () => response.destroy());
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const server = createServer(forward);
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const disconnect = (): Promise<void> =>
    new Promise(resolve => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${port}`,
    countStreams: () => streams.size,
    disconnect,
    reconnect: () => listen(port),
    hide(path) {
      hiddenPath = path;
    },
    countHidden: () => hiddenCount,
    close: () => (server.listening ? disconnect() : Promise.resolve()),
  };
}
