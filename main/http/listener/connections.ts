import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { StreamRegistry } from './stream-registry.ts';

/**
 * The requests in progress on all listeners. The code that watches sockets, writes responses and reads bodies shares this object.
 */
export interface RequestTracker {
  readonly inProgress: Set<ServerResponse>;
  /**
   * Removes the time limit of the socket for this request's body. Called when the caller is authenticated and the reader of the
   * body applies its own limit.
   */
  liftBodyTimeout(request: IncomingMessage): void;
  hasNoBodyTimeout(request: IncomingMessage): boolean;
}

export function createRequestTracker(): RequestTracker {
  const unlimited = new WeakSet<IncomingMessage>();
  return {
    inProgress: new Set(),
    liftBodyTimeout: request => void unlimited.add(request),
    hasNoBodyTimeout: request => unlimited.has(request),
  };
}

/** An accepted connection. There may be ten thousand, so the record is small. */
interface Connection {
  readonly raw: Socket;
  readonly isSecure: boolean;
  /** The socket for HTTP: `raw`, or the TLS socket that decrypts it. Null until the protocol is known. */
  httpSocket: Socket | null;
  /** Number of requests in progress on this connection. */
  requestCount: number;
  /** The response to the newest request with a body. Null once the whole body has arrived. */
  awaited: ServerResponse | null;
  /** When that request started, by `performance.now()`. */
  awaitedSince: number;
  /** True after the first request. */
  isUsed: boolean;
  isClosing: boolean;
}

export interface Connections {
  /** Registers a socket that was just accepted. With `isUndecided`, its first byte will decide between plain HTTP and TLS. */
  accept(raw: Socket, isSecure: boolean, isUndecided?: boolean): void;
  /** Registers the HTTP socket of an accepted connection. Returns false when the connection has closed since. */
  addHttpSocket(httpSocket: Socket): boolean;
  /** Registers a request. Must be called before the request is answered. */
  addRequest(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Disconnects clients that take too long to send a body, unless the reader of the body has its own limit. Call it periodically.
   */
  disconnectSlow(): void;
  /** Ends the event streams of the selected connections, and gives requests in progress a moment to finish. */
  close(which: (raw: Socket, isSecure: boolean) => boolean): Promise<void>;
}

/** Time that requests in progress get to finish. */
const endWithinMs = 1_000;

interface ConnectionLimits {
  readonly maxWaiting: number;
  readonly requestMs: number;
}

/** Tracks the connections of one listener. */
export function createConnections(
  { streams, requests }: { readonly streams: StreamRegistry; readonly requests: RequestTracker },
  limits: ConnectionLimits,
): Connections {
  const open = new Set<Connection>();
  const byHttpSocket = new Map<Socket, Connection>();
  /** Connections during the TLS handshake. The key is the name of the socket, because the TLS socket does not exist yet. */
  const handshaking = new Map<string, Connection>();
  const waiting = createWaiting(requests, limits);
  const setHttpSocket = (connection: Connection, httpSocket: Socket): void => {
    connection.httpSocket = httpSocket;
    byHttpSocket.set(httpSocket, connection);
  };
  const requestsOn = (connections: ReadonlySet<Connection>): ReadonlySet<ServerResponse> =>
    new Set(
      [...requests.inProgress].filter(({ req }) => {
        const connection = byHttpSocket.get(req.socket);
        return connection !== undefined && connections.has(connection);
      }),
    );
  return {
    accept(raw, isSecure, isUndecided = false) {
      const connection = { ...initialState, raw, isSecure };
      const name = isSecure || isUndecided ? nameOf(raw) : null;
      open.add(connection);
      if (name === null) setHttpSocket(connection, raw);
      else handshaking.set(name, connection);
      raw.on('close', () => {
        open.delete(connection);
        waiting.remove(connection);
        if (connection.httpSocket !== null) byHttpSocket.delete(connection.httpSocket);
        if (name !== null && handshaking.get(name) === connection) handshaking.delete(name);
      });
      waiting.markIdle(connection);
    },
    addHttpSocket(httpSocket) {
      if (byHttpSocket.has(httpSocket)) return true;
      const name = nameOf(httpSocket);
      const connection = handshaking.get(name);
      if (connection === undefined) return false;
      handshaking.delete(name);
      setHttpSocket(connection, httpSocket);
      return true;
    },
    addRequest(request, response) {
      const connection = byHttpSocket.get(request.socket);
      requests.inProgress.add(response);
      response.on('close', () => {
        requests.inProgress.delete(response);
        if (connection !== undefined) waiting.finishRequest(connection);
      });
      if (connection === undefined) return;
      if (connection.isClosing) response.shouldKeepAlive = false;
      waiting.startRequest(connection, response);
    },
    disconnectSlow: waiting.disconnectSlow,
    async close(which) {
      const closing = [...open].filter(({ raw, isSecure }) => which(raw, isSecure));
      const closed = closing.map(
        ({ raw }) => new Promise<void>(resolve => raw.once('close', () => resolve())),
      );
      const answers = requestsOn(new Set(closing));
      // The response in progress is the last one on this connection.
      for (const response of answers) response.shouldKeepAlive = false;
      for (const connection of closing) {
        connection.isClosing = true;
        if (connection.isUsed && connection.requestCount === 0) connection.raw.destroy();
      }
      streams.endMatching(response => answers.has(response));
      const timer = setTimeout(() => {
        for (const { raw } of closing) raw.destroy();
      }, endWithinMs);
      await Promise.all(closed);
      clearTimeout(timer);
    },
  };
}

/**
 * Limits the number of connections that have not sent a whole request. Above `maxWaiting`, the connection that has waited longest
 * is closed; an honest client only needs milliseconds. Nearly every body arrives together with its headers, so no listener is
 * added for the body. Its completeness is only checked when needed.
 */
function createWaiting(requests: RequestTracker, { maxWaiting, requestMs }: ConnectionLimits) {
  /** Connections in the order in which they started to wait. Some may have sent their whole request since. */
  const waiting = new Set<Connection>();
  const isWhole = ({ awaited }: Connection): boolean =>
    awaited === null || awaited.req.complete || requests.hasNoBodyTimeout(awaited.req);
  const markIdle = (connection: Connection): void => {
    waiting.delete(connection);
    waiting.add(connection);
    for (const first of waiting) {
      if (waiting.size <= maxWaiting) return;
      if (first.requestCount === 0 || !isWhole(first)) return void first.raw.destroy();
      waiting.delete(first);
    }
  };
  return {
    /** Adds a connection without a request in progress. */
    markIdle,
    /** Adds a connection whose request has a body, which may be incomplete. Removes a connection whose request has none. */
    startRequest(connection: Connection, response: ServerResponse): void {
      connection.requestCount += 1;
      connection.isUsed = true;
      if (!hasBody(response.req)) return void waiting.delete(connection);
      connection.awaited = response;
      connection.awaitedSince = performance.now();
      return void waiting.add(connection);
    },
    finishRequest(connection: Connection): void {
      connection.requestCount -= 1;
      // Release the response, because an idle connection would keep its last request in memory.
      if (isWhole(connection)) connection.awaited = null;
      if (connection.requestCount > 0 || connection.raw.destroyed) return;
      if (connection.isClosing) connection.httpSocket?.destroySoon();
      else markIdle(connection);
    },
    remove: (connection: Connection): void => void waiting.delete(connection),
    disconnectSlow(): void {
      const startedBy = performance.now() - requestMs;
      for (const connection of waiting)
        if (connection.awaitedSince <= startedBy && !isWhole(connection)) disconnect(connection);
    },
  };
}

const initialState = {
  httpSocket: null,
  requestCount: 0,
  awaited: null,
  awaitedSince: 0,
  isUsed: false,
  isClosing: false,
} satisfies Partial<Connection>;

function disconnect(connection: Connection): void {
  const { httpSocket, awaited } = connection;
  connection.awaited = null;
  if (httpSocket?.writable && awaited?.headersSent === false)
    httpSocket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
  httpSocket?.destroySoon();
}

/** Returns a name that a raw socket shares with its TLS socket, but with no other open connection of the same port. */
const nameOf = ({ localAddress, remoteAddress, remotePort }: Socket): string =>
  `${localAddress} ${remoteAddress} ${remotePort}`;

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
