import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { StreamRegistry } from './stream-registry.ts';

/** A socket that takes calls; there may be several, and each ends alone. */
export interface Listener {
  readonly port: number;
  /** Takes no more calls, ends its streams, lets calls in progress finish for a moment. */
  close(): Promise<void>;
}

export interface Listeners {
  /** Fails as `listen` does: EADDRINUSE, EACCES, ... */
  listen(host: string, port: number): Promise<Listener>;
  closeAll(): Promise<void>;
}

const closeWithinMs = 1_000;

export function createListeners(handler: RequestListener, streams: StreamRegistry): Listeners {
  const open = new Set<Listener>();
  let isClosed = false;
  return {
    async listen(host, port) {
      const server = createServer(handler);
      const sockets = new Set<Socket>();
      const responses = new Set<ServerResponse>();
      server.prependListener('request', (_request, response) => {
        responses.add(response);
        response.once('close', () => responses.delete(response));
      });
      server.on('connection', socket => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      });
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.removeListener('error', reject);
          resolve();
        });
      });
      const listener = {
        port: portOf(server.address()),
        async close() {
          open.delete(listener);
          // What is answered yet is the last that comes this way.
          for (const response of responses) response.shouldKeepAlive = false;
          streams.endThose(({ socket }) => socket !== null && sockets.has(socket));
          const closed = new Promise<void>(resolve => server.close(() => resolve()));
          const timer = setTimeout(() => server.closeAllConnections(), closeWithinMs);
          server.closeIdleConnections();
          await closed;
          clearTimeout(timer);
        },
      };
      open.add(listener);
      // It was on its way when all were closed.
      if (isClosed) await listener.close();
      return listener;
    },
    async closeAll() {
      isClosed = true;
      await Promise.all([...open].map(listener => listener.close()));
    },
  };
}

function portOf(bound: AddressInfo | string | null): number {
  if (bound === null || typeof bound === 'string')
    throw new Error('the server listens on no network address');
  return bound.port;
}
