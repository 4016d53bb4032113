import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Bodies } from './bodies.ts';
import type { StreamRegistry } from './stream-registry.ts';

export interface Accepted {
  /** Of ours, by which it came. */
  readonly localAddress: string;
  readonly isSecure: boolean;
}

/** One that was accepted. */
interface Connection extends Accepted {
  readonly raw: Socket;
  /** What HTTP is spoken over: `raw`, or what decrypts it. Null before that is known. */
  spoken: Socket | null;
  /** Those that are answered over it now. */
  readonly calls: Set<ServerResponse>;
  isUsed: boolean;
  isLeaving: boolean;
}

export interface Connections {
  /** Of a socket that was just accepted. */
  accept(raw: Socket, isSecure: boolean): void;
  /** HTTP begins over `spoken`: false when its connection has gone meanwhile. */
  begin(spoken: Socket): boolean;
  /** To be told of each call before it is answered. */
  noteCall(request: IncomingMessage, response: ServerResponse): void;
  /** Ends their streams, lets calls in progress finish for a moment. */
  end(which: (accepted: Accepted) => boolean): Promise<void>;
}

const endWithinMs = 1_000;

/**
 * The connections of one address. Those that have not sent a whole request yet are no more than `mostWaiting`: when there is
 * one more, the one goes that has had the most time for it. An honest caller needs milliseconds.
 */
export function createConnections(
  { streams, bodies }: { readonly streams: StreamRegistry; readonly bodies: Bodies },
  { mostWaiting, requestMs }: { readonly mostWaiting: number; readonly requestMs: number },
): Connections {
  const open = new Map<string, Connection>();
  const bySpoken = new WeakMap<Socket, Connection>();
  /** In the order in which they began to wait. */
  const waiting = new Set<Connection>();
  const wait = (connection: Connection): void => {
    waiting.delete(connection);
    waiting.add(connection);
    const [first] = waiting;
    if (waiting.size > mostWaiting) first?.raw.destroy();
  };
  const finish = (connection: Connection, response: ServerResponse): void => {
    connection.calls.delete(response);
    if (connection.calls.size > 0 || connection.raw.destroyed) return;
    if (connection.isLeaving) connection.spoken?.destroySoon();
    else wait(connection);
  };
  return {
    accept(raw, isSecure) {
      const name = nameOf(raw);
      const connection: Connection = {
        raw,
        localAddress: raw.localAddress ?? '',
        isSecure,
        spoken: null,
        calls: new Set(),
        isUsed: false,
        isLeaving: false,
      };
      open.set(name, connection);
      raw.once('close', () => {
        if (open.get(name) === connection) open.delete(name);
        waiting.delete(connection);
      });
      wait(connection);
    },
    begin(spoken) {
      const connection = open.get(nameOf(spoken));
      if (connection === undefined) return false;
      connection.spoken = spoken;
      bySpoken.set(spoken, connection);
      return true;
    },
    noteCall(request, response) {
      const connection = bySpoken.get(request.socket);
      if (connection === undefined) return;
      connection.calls.add(response);
      connection.isUsed = true;
      if (connection.isLeaving) response.shouldKeepAlive = false;
      const done = (): void => void waiting.delete(connection);
      if (hasBody(request)) awaitBody(request, response, { bodies, requestMs, done });
      else done();
      response.once('close', () => finish(connection, response));
    },
    async end(which) {
      const leaving = [...open.values()].filter(which);
      const closed = leaving.map(
        ({ raw }) => new Promise<void>(resolve => raw.once('close', () => resolve())),
      );
      for (const connection of leaving) {
        connection.isLeaving = true;
        // What is answered yet is the last that comes this way.
        for (const response of connection.calls) response.shouldKeepAlive = false;
        if (connection.isUsed && connection.calls.size === 0) connection.raw.destroy();
      }
      const answers = new Set(leaving.flatMap(({ calls }) => [...calls]));
      streams.endThose(response => answers.has(response));
      const timer = setTimeout(() => {
        for (const { raw } of leaving) raw.destroy();
      }, endWithinMs);
      await Promise.all(closed);
      clearTimeout(timer);
    },
  };
}

interface Waiting {
  readonly bodies: Bodies;
  readonly requestMs: number;
  /** There is nothing to wait for any more. */
  readonly done: () => void;
}

/** Cuts off who takes too long with it, unless somebody else takes that over. */
function awaitBody(
  request: IncomingMessage,
  response: ServerResponse,
  { bodies, requestMs, done }: Waiting,
): void {
  const { socket } = request;
  const timer = setTimeout(() => {
    if (socket.writable && !response.headersSent)
      socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n');
    socket.destroySoon();
  }, requestMs);
  // Of a request that was answered before its end nobody hears any more that it has closed.
  const stop = (): void => {
    clearTimeout(timer);
    socket.removeListener('close', stop);
  };
  const letGo = (): void => {
    stop();
    done();
  };
  socket.once('close', stop);
  request.once('end', letGo);
  request.once('close', stop);
  bodies.expect(request, letGo);
}

/** The same for a socket and for what decrypts it, and of no other that is open: it was accepted at one port. */
const nameOf = ({ localAddress, remoteAddress, remotePort }: Socket): string =>
  `${localAddress} ${remoteAddress} ${remotePort}`;

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
