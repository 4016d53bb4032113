import { createServer as createHttp, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createFront, type Server, type Socket } from 'node:net';
import { createServer as createTls, type SecureContextOptions } from 'node:tls';
import { isHomeAddress, isLoopbackAddress } from './client-address.ts';
import type { Calls } from './calls.ts';
import { createConnections } from './connections.ts';
import { Answer } from './express-answer.ts';
import { tellTlsApart } from './first-byte.ts';
import { mostHeaders } from './heads.ts';
import type { StreamRegistry } from './stream-registry.ts';

/** How long a caller may take. Answers, and streams with them, may take as long as they want. */
export interface SocketLimits {
  /** To send the headers, from the first moment on, TLS included. */
  readonly headersMs: number;
  /** To send a body; a file that somebody uploads may take longer, as long as it comes. */
  readonly requestMs: number;
  /** To send the next one. */
  readonly idleMs: number;
  /** How often slow callers are looked for: they have so much more at most. */
  readonly checkMs: number;
  /** Connections to one address that have not sent a whole request. */
  readonly mostWaiting: number;
}

/**
 * The headers are one or two packets; 20 s leave room for a bad link, and for a handshake on a busy machine. A whole body may take five
 * minutes: 5 MB at 140 kbit/s. Five seconds between calls are fewer than any router forgets a connection in, so that no beat
 * of a worker, half a minute after the last, is lost on one that is dead. There is no limit an address: many rigs may sit
 * behind one.
 */
export const socketLimits: SocketLimits = {
  headersMs: 20_000,
  requestMs: 300_000,
  idleMs: 5_000,
  checkMs: 5_000,
  mostWaiting: 2_048,
};

/**
 * Connections that the system keeps until they are taken, if it keeps as many (Linux: `net.core.somaxconn`). A fleet that comes back
 * at once is one burst: whom there is no place for tries again after 1, 2, 4, ... seconds, and the last ones after half a minute.
 */
const mostUnaccepted = 16_384;

const longestHeaders = 16_384;

export interface TlsIdentity {
  /** PEM. */
  readonly key: string;
  /** PEM, with the certificates that lead to a known one behind it, if there are any. */
  readonly certificate: string;
}

/** A socket that takes calls; there may be several, and each ends alone. */
export interface Door {
  readonly port: number;
  /** What is spoken with whoever comes from now on; who is there already is left alone. */
  speakTls(isSecure: boolean): void;
  /** Ends the connections that do not speak what is spoken now. */
  dropOthers(): Promise<void>;
  /** From now on. */
  present(identity: TlsIdentity): void;
  /** Takes no more calls, ends its streams, lets calls in progress finish for a moment. */
  close(): Promise<void>;
}

export interface DoorParts {
  readonly handler: RequestListener;
  readonly streams: StreamRegistry;
  readonly calls: Calls;
  readonly limits: SocketLimits;
  /** Null as long as nobody speaks TLS. */
  readonly identity: TlsIdentity | null;
}

const contextOf = (identity: TlsIdentity | null): SecureContextOptions => ({
  minVersion: 'TLSv1.2',
  // Nobody shows a certificate here: without this word, those of all authorities are read, for whoever would.
  ca: [],
  ...(identity && { key: identity.key, cert: identity.certificate }),
});

/**
 * Listens at one address; fails as `listen` does: EADDRINUSE, EACCES, ... One socket takes all that come, and each of them meets plain
 * HTTP or TLS, so that it can be changed with nothing that may fail. By the loopback address both work at the same port, and plain HTTP
 * always does (docs/adr/0013).
 */
export async function openDoor(
  { handler, streams, calls, limits, identity }: DoorParts,
  host: string,
  port: number,
  isSecureAtFirst: boolean,
): Promise<Door> {
  let isSecure = isSecureAtFirst;
  let hasIdentity = identity !== null;
  const isForAll = host === '0.0.0.0' || host === '::';
  // What a socket knows of its address it keeps from when it is asked.
  const meetsTls = (socket: Pick<Socket, 'localAddress'>): boolean =>
    isSecure && !(isForAll && isLoopbackAddress(socket.localAddress ?? ''));
  const connections = createConnections({ streams, calls }, limits);
  const http = createHttp({ ...optionsOf(limits), ServerResponse: Answer }, handler);
  http.maxHeadersCount = mostHeaders;
  http.prependListener('request', connections.noteCall);
  // Who asks whether to send its body is told when that is read, and not when it is refused.
  http.on('checkContinue', (request, response) => void http.emit('request', request, response));
  // Node begins to look for slow callers with this event, and it is not this server that listens.
  http.emit('listening');
  const begin = (socket: Socket): void => {
    if (connections.begin(socket)) http.emit('connection', socket);
    else socket.destroy();
  };
  const tls = createTls({
    ...contextOf(identity),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: limits.headersMs,
  });
  tls.on('secureConnection', begin);
  tls.on('tlsClientError', (_cause, socket) => socket.destroy());
  const front = createFront({ allowHalfOpen: true, noDelay: true }, raw => {
    raw.on('error', () => raw.destroy());
    const isTls = meetsTls(raw);
    const isEither = !isTls && hasIdentity && isHomeAddress(raw.localAddress ?? '');
    connections.accept(raw, isTls, isEither);
    if (isTls || isEither)
      tellTlsApart(raw, limits.headersMs, {
        tls: () => tls.emit('connection', raw),
        plain: isEither ? () => begin(raw) : null,
      });
    else begin(raw);
  });
  await listen(front, host, port);
  const looking = setInterval(connections.look, limits.checkMs).unref();
  return {
    port: portOf(front.address()),
    speakTls(now) {
      isSecure = now;
    },
    dropOthers: () => connections.end((raw, was) => was !== meetsTls(raw)),
    present(next) {
      hasIdentity = true;
      tls.setSecureContext(contextOf(next));
    },
    async close() {
      const closed = new Promise<void>(resolve => front.close(() => resolve()));
      // Only what looks for slow callers.
      http.close();
      clearInterval(looking);
      await connections.end(() => true);
      await closed;
    },
  };
}

const optionsOf = ({ headersMs, idleMs, checkMs }: SocketLimits) => ({
  headersTimeout: headersMs,
  // Of all requests, or of none: bodies that may take longer are let go one by one (connections.ts).
  requestTimeout: 0,
  keepAliveTimeout: idleMs,
  connectionsCheckingInterval: checkMs,
  maxHeaderSize: longestHeaders,
});

const listen = (front: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    front.once('error', reject);
    front.listen({ port, host, backlog: mostUnaccepted }, () => {
      front.removeListener('error', reject);
      resolve();
    });
  });

function portOf(bound: AddressInfo | string | null): number {
  if (bound === null || typeof bound === 'string')
    throw new Error('the server listens on no network address');
  return bound.port;
}
