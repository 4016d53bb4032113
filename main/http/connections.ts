import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Calls } from './calls.ts';
import type { StreamRegistry } from './stream-registry.ts';

/** One that was accepted. There may be ten thousand: what is kept of each is little. */
interface Connection {
  readonly raw: Socket;
  readonly isSecure: boolean;
  /** What HTTP is spoken over: `raw`, or what decrypts it. Null before that is known. */
  spoken: Socket | null;
  /** So many calls are answered over it now. */
  calls: number;
  /** To the newest call with a body; null once that is known to be whole. */
  awaited: ServerResponse | null;
  awaitedSince: number;
  isUsed: boolean;
  isLeaving: boolean;
}

export interface Connections {
  /** Of a socket that was just accepted. Undecided: what it speaks, plain HTTP or TLS, is known with its first byte. */
  accept(raw: Socket, isSecure: boolean, isUndecided?: boolean): void;
  /** HTTP begins over `spoken`: false when its connection has gone meanwhile. */
  begin(spoken: Socket): boolean;
  /** To be told of each call before it is answered. */
  noteCall(request: IncomingMessage, response: ServerResponse): void;
  /** Cuts off who takes too long with a body, unless somebody else has taken that over. To be called every now and then. */
  look(): void;
  /** Ends their streams, lets calls in progress finish for a moment. */
  end(which: (raw: Socket, isSecure: boolean) => boolean): Promise<void>;
}

const endWithinMs = 1_000;

interface ConnectionLimits {
  readonly mostWaiting: number;
  readonly requestMs: number;
}

/** The connections of one address. */
export function createConnections(
  { streams, calls }: { readonly streams: StreamRegistry; readonly calls: Calls },
  limits: ConnectionLimits,
): Connections {
  const open = new Set<Connection>();
  const bySpoken = new Map<Socket, Connection>();
  /** By name: what decrypts them is still to be made. */
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
      // What is answered yet is the last that comes this way.
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
 * Those that have not sent a whole request yet are no more than `mostWaiting`: when there is one more, the one goes that has had
 * the most time for it. An honest caller needs milliseconds. Nearly every body comes with its head: nothing is set up to wait for
 * one, and whether it has come is looked at when that matters.
 */
function createWaiting(calls: Calls, { mostWaiting, requestMs }: ConnectionLimits) {
  /** In the order in which they began to wait; some have sent all by now. */
  const waiting = new Set<Connection>();
  const isWhole = ({ awaited }: Connection): boolean =>
    awaited === null || awaited.req.complete || calls.isTakenOver(awaited.req);
  const rest = (connection: Connection): void => {
    waiting.delete(connection);
    waiting.add(connection);
    for (const first of waiting) {
      if (waiting.size <= mostWaiting) return;
      if (first.calls === 0 || !isWhole(first)) return void first.raw.destroy();
      waiting.delete(first);
    }
  };
  return {
    /** Nothing is asked over it. */
    rest,
    /** A call begins, whose body may be still to come. */
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
      // Else a connection that rests would keep the last call.
      if (isWhole(connection)) connection.awaited = null;
      if (connection.calls > 0 || connection.raw.destroyed) return;
      if (connection.isLeaving) connection.spoken?.destroySoon();
      else rest(connection);
    },
    drop: (connection: Connection): void => void waiting.delete(connection),
    look(): void {
      const begunBy = performance.now() - requestMs;
      for (const connection of waiting)
        if (connection.awaitedSince <= begunBy && !isWhole(connection)) cutOff(connection);
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

/** The same for a socket and for what decrypts it, and of no other that is open: it was accepted at one port. */
const nameOf = ({ localAddress, remoteAddress, remotePort }: Socket): string =>
  `${localAddress} ${remoteAddress} ${remotePort}`;

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
