import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { StreamRegistry } from './stream-registry.ts';

/**
 * The requests in progress on all listeners. The code that watches sockets, writes responses and reads bodies shares this object.
 */
export interface Calls {
  readonly inProgress: Set<ServerResponse>;
  /**
   * Removes the time limit of the socket for this request's body. Called when the caller is authenticated and the reader of the
   * body applies its own limit.
   */
  takeOver(request: IncomingMessage): void;
  isTakenOver(request: IncomingMessage): boolean;
}

export function createCalls(): Calls {
  const takenOver = new WeakSet<IncomingMessage>();
  return {
    inProgress: new Set(),
    takeOver: request => void takenOver.add(request),
    isTakenOver: request => takenOver.has(request),
  };
}

/** An accepted connection. There may be ten thousand, so the record is small. */
interface Connection {
  readonly raw: Socket;
  readonly isSecure: boolean;
  /** The socket for HTTP: `raw`, or the TLS socket that decrypts it. Null until the protocol is known. */
  spoken: Socket | null;
  /** Number of requests in progress on this connection. */
  calls: number;
  /** The response to the newest request with a body. Null once the whole body has arrived. */
  awaited: ServerResponse | null;
  awaitedSince: number;
  isUsed: boolean;
  isLeaving: boolean;
}

export interface Connections {
  /** Registers a socket that was just accepted. With `isUndecided`, its first byte will decide between plain HTTP and TLS. */
  accept(raw: Socket, isSecure: boolean, isUndecided?: boolean): void;
  /** Registers the socket for HTTP of a connection. Returns false when the connection has closed in the meantime. */
  begin(spoken: Socket): boolean;
  /** Registers a request. Must be called before the request is answered. */
  noteCall(request: IncomingMessage, response: ServerResponse): void;
  /**
   * Disconnects clients that take too long to send a body, unless the reader of the body has its own limit. Call it periodically.
   */
  look(): void;
  /** Ends the event streams of the selected connections, and gives requests in progress a moment to finish. */
  end(which: (raw: Socket, isSecure: boolean) => boolean): Promise<void>;
}

const endWithinMs = 1_000;

interface ConnectionLimits {
  readonly maxWaiting: number;
  readonly requestMs: number;
}

/** Tracks the connections of one listener. */
export function createConnections(
  { streams, calls }: { readonly streams: StreamRegistry; readonly calls: Calls },
  limits: ConnectionLimits,
): Connections {
  const open = new Set<Connection>();
  const bySpoken = new Map<Socket, Connection>();
  /** Connections during the TLS handshake. The key is the name of the socket, because the TLS socket does not exist yet. */
  const shakingHands = new Map<string, Connection>();
  const waiting = createWaiting(calls, limits);
  const speak = (connection: Connection, spoken: Socket): void => {
    connection.spoken = spoken;
    bySpoken.set(spoken, connection);
  };
  const callsOver = (connections: ReadonlySet<Connection>): ReadonlySet<ServerResponse> =>
    new Set(
      [...calls.inProgress].filter(({ req }) => {
        const connection = bySpoken.get(req.socket);
        return connection !== undefined && connections.has(connection);
      }),
    );
  return {
    accept(raw, isSecure, isUndecided = false) {
      const connection = { ...unused, raw, isSecure };
      const name = isSecure || isUndecided ? nameOf(raw) : null;
      open.add(connection);
      if (name === null) speak(connection, raw);
      else shakingHands.set(name, connection);
      raw.on('close', () => {
        open.delete(connection);
        waiting.drop(connection);
        if (connection.spoken !== null) bySpoken.delete(connection.spoken);
        if (name !== null && shakingHands.get(name) === connection) shakingHands.delete(name);
      });
      waiting.rest(connection);
    },
    begin(spoken) {
      if (bySpoken.has(spoken)) return true;
      const name = nameOf(spoken);
      const connection = shakingHands.get(name);
      if (connection === undefined) return false;
      shakingHands.delete(name);
      speak(connection, spoken);
      return true;
    },
    noteCall(request, response) {
      const connection = bySpoken.get(request.socket);
      calls.inProgress.add(response);
      response.on('close', () => {
        calls.inProgress.delete(response);
        if (connection !== undefined) waiting.finish(connection);
      });
      if (connection === undefined) return;
      if (connection.isLeaving) response.shouldKeepAlive = false;
      waiting.begin(connection, response);
    },
    look: waiting.look,
    async end(which) {
      const leaving = [...open].filter(({ raw, isSecure }) => which(raw, isSecure));
      const closed = leaving.map(
        ({ raw }) => new Promise<void>(resolve => raw.once('close', () => resolve())),
      );
      const answers = callsOver(new Set(leaving));
      // The response in progress is the last one on this connection.
      for (const response of answers) response.shouldKeepAlive = false;
      for (const connection of leaving) {
        connection.isLeaving = true;
        if (connection.isUsed && connection.calls === 0) connection.raw.destroy();
      }
      streams.endThose(response => answers.has(response));
      const timer = setTimeout(() => {
        for (const { raw } of leaving) raw.destroy();
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
function createWaiting(calls: Calls, { maxWaiting, requestMs }: ConnectionLimits) {
  /** In the order in which they started to wait. Some may be complete by now. */
  const waiting = new Set<Connection>();
  const isWhole = ({ awaited }: Connection): boolean =>
    awaited === null || awaited.req.complete || calls.isTakenOver(awaited.req);
  const rest = (connection: Connection): void => {
    waiting.delete(connection);
    waiting.add(connection);
    for (const first of waiting) {
      if (waiting.size <= maxWaiting) return;
      if (first.calls === 0 || !isWhole(first)) return void first.raw.destroy();
      waiting.delete(first);
    }
  };
  return {
    /** The connection has no request in progress. */
    rest,
    /** A request has started; its body may be incomplete. */
    begin(connection: Connection, response: ServerResponse): void {
      connection.calls += 1;
      connection.isUsed = true;
      if (!hasBody(response.req)) return void waiting.delete(connection);
      connection.awaited = response;
      connection.awaitedSince = performance.now();
      return void waiting.add(connection);
    },
    finish(connection: Connection): void {
      connection.calls -= 1;
      // Otherwise an idle connection would keep its last request in memory.
      if (isWhole(connection)) connection.awaited = null;
      if (connection.calls > 0 || connection.raw.destroyed) return;
      if (connection.isLeaving) connection.spoken?.destroySoon();
      else rest(connection);
    },
    drop: (connection: Connection): void => void waiting.delete(connection),
    look(): void {
      const startedBy = performance.now() - requestMs;
      for (const connection of waiting)
        if (connection.awaitedSince <= startedBy && !isWhole(connection)) cutOff(connection);
    },
  };
}

const unused = {
  spoken: null,
  calls: 0,
  awaited: null,
  awaitedSince: 0,
  isUsed: false,
  isLeaving: false,
} satisfies Partial<Connection>;

function cutOff(connection: Connection): void {
  const { spoken, awaited } = connection;
  connection.awaited = null;
  if (spoken?.writable && awaited?.headersSent === false)
    spoken.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
  spoken?.destroySoon();
}

/** Returns a name that a raw socket shares with its TLS socket, but with no other open connection of the same port. */
const nameOf = ({ localAddress, remoteAddress, remotePort }: Socket): string =>
  `${localAddress} ${remoteAddress} ${remotePort}`;

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
