import type { RequestListener, IncomingMessage, ServerResponse } from 'node:http';
import { type HttpListener, openHttpListener, type SocketLimits, type TlsIdentity } from './http-listener.ts';
import type { StreamRegistry } from './stream-registry.ts';
import type { RequestTracker } from './connections.ts';

export type Listener = Omit<HttpListener, 'setCertificate'>;

/** All sockets of the server, which share one request handler. */
export interface Listeners {
  /** Opens a socket. Rejects as Node's `listen` does: EADDRINUSE, EACCES, ... */
  listen(host: string, port: number, isSecure: boolean): Promise<Listener>;
  /** Sets the certificate for new TLS connections of all listeners. */
  setCertificate(identity: TlsIdentity): void;
  /**
   * Passes new requests to `suspendedHandler`, ends event streams, and waits a moment for the requests in progress, except
   * `request`.
   */
  suspend(request: IncomingMessage): Promise<void>;
  /** Replaces the request handler. The sockets stay open. */
  serve(handler: RequestListener): void;
  closeAll(): Promise<void>;
}

/** Requests that take longer are cut off, because the database is closed next. */
const finishWithinMs = 1_000;

interface ListenersDeps {
  readonly streams: StreamRegistry;
  readonly requests: RequestTracker;
  readonly limits: SocketLimits;
  /** Answers every request after `suspend`, until the next `serve`. */
  readonly suspendedHandler: RequestListener;
}

export function createListeners(
  first: RequestListener,
  { streams, requests, limits, suspendedHandler }: ListenersDeps,
): Listeners {
  let current = first;
  const handler: RequestListener = (request, response) => current(request, response);
  const open = new Set<HttpListener>();
  let identity: TlsIdentity | null = null;
  let isClosed = false;
  return {
    async listen(host, port, isSecure) {
      const listener = await openHttpListener(
        { handler, streams, requests, limits, identity },
        host,
        port,
        isSecure,
      );
      // The certificate may have changed while the socket was opened.
      if (identity !== null) listener.setCertificate(identity);
      const tracked = {
        ...listener,
        close() {
          open.delete(tracked);
          return listener.close();
        },
      };
      open.add(tracked);
      // `closeAll` was called while the socket was opened.
      if (isClosed) await tracked.close();
      return tracked;
    },
    setCertificate(next) {
      identity = next;
      for (const listener of open) listener.setCertificate(next);
    },
    async suspend(request) {
      current = suspendedHandler;
      const others = (): readonly ServerResponse[] =>
        [...requests.inProgress].filter(({ req }) => req !== request);
      const cut = (): void => {
        for (const response of others()) response.destroy();
      };
      streams.endMatching(() => true);
      const timer = setTimeout(cut, finishWithinMs);
      // New requests already go to `suspendedHandler`, which answers immediately, so they are not waited for.
      await Promise.all(others().map(closed));
      clearTimeout(timer);
    },
    serve(next) {
      current = next;
    },
    async closeAll() {
      isClosed = true;
      const listeners = [...open];
      open.clear();
      await Promise.all(listeners.map(listener => listener.close()));
    },
  };
}

const closed = (response: ServerResponse): Promise<void> =>
  new Promise(resolve => {
    if (response.closed) resolve();
    else response.once('close', resolve);
  });
