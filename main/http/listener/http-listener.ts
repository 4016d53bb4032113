import { createServer as createHttp, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTls, type SecureContextOptions } from 'node:tls';
import { isLocalhostAddress, isLoopbackAddress, maxHeaderCount } from '../auth/sender.ts';
import { createConnections, type RequestTracker } from './connections.ts';
import type { StreamRegistry } from './stream-registry.ts';

/** Time limits for clients, in milliseconds. Responses and event streams have no limit. */
export interface SocketLimits {
  /** Limit for the headers, from the start of the connection, including the TLS handshake. */
  readonly headersMs: number;
  /** Limit for a body. File uploads may take longer while data keeps arriving. */
  readonly requestMs: number;
  /** Limit for the time between two requests. */
  readonly idleMs: number;
  /** Interval of the check for slow clients. Slow clients may exceed a limit by this time. */
  readonly checkMs: number;
  /** Maximum number of connections of one listener that have not sent a whole request. */
  readonly maxWaiting: number;
}

/**
 * Headers are one or two packets; 20 s allow for a bad connection, and for a handshake on a busy machine. A whole body may take
 * five minutes, which is 5 MB at 140 kbit/s.
 * A router may forget an idle connection, and a request on that connection is then lost. With an idle limit of 5 s, the server
 * closes the connection first, so a heartbeat after 30 s opens a new connection.
 * There is no limit per address, because many rigs may share an address.
 */
export const socketLimits: SocketLimits = {
  headersMs: 20_000,
  requestMs: 300_000,
  idleMs: 5_000,
  checkMs: 5_000,
  maxWaiting: 2_048,
};

/**
 * Length of the accept queue, if the system allows it (Linux: `net.core.somaxconn`). A whole fleet may reconnect at the same
 * time. Clients that find the queue full retry after 1, 2, 4, ... seconds; the last ones then need half a minute.
 */
const maxUnaccepted = 16_384;

/** Maximum size of the headers of a request, in bytes. */
const maxHeaders = 16_384;

export interface TlsIdentity {
  /** PEM. */
  readonly key: string;
  /** PEM. The intermediate certificates may follow the certificate. */
  readonly certificate: string;
}

/** A socket that accepts connections. A server may have several, and each can be closed separately. */
export interface HttpListener {
  readonly port: number;
  /** Sets whether new connections use TLS. Existing connections do not change. */
  setTls(isSecure: boolean): void;
  /** Closes the connections that do not use the current protocol. */
  closeOtherProtocol(): Promise<void>;
  /** Sets the certificate for new connections. */
  setCertificate(identity: TlsIdentity): void;
  /** Stops accepting connections, ends event streams, and gives requests in progress a moment to finish. */
  close(): Promise<void>;
}

export interface HttpListenerDeps {
  readonly handler: RequestListener;
  readonly streams: StreamRegistry;
  readonly requests: RequestTracker;
  readonly limits: SocketLimits;
  /** Null while TLS is off. */
  readonly identity: TlsIdentity | null;
}

const contextOf = (identity: TlsIdentity | null): SecureContextOptions => ({
  minVersion: 'TLSv1.2',
  // Clients have no certificates. Without this line, Node would load all root certificates to verify them.
  ca: [],
  ...(identity && { key: identity.key, cert: identity.certificate }),
});

/**
 * Listens on one address. Rejects as Node's `listen` does: EADDRINUSE, EACCES, ... One socket accepts all connections and passes
 * each to plain HTTP or to TLS, so that turning TLS on or off cannot fail. On the loopback address, the port accepts both, and
 * plain HTTP always works (docs/adr/0013).
 */
export async function openHttpListener(
  { handler, streams, requests, limits, identity }: HttpListenerDeps,
  host: string,
  port: number,
  isSecureAtFirst: boolean,
): Promise<HttpListener> {
  let isSecure = isSecureAtFirst;
  let hasIdentity = identity !== null;
  const isWildcard = host === '0.0.0.0' || host === '::';
  // A socket caches its address when the address is first read, so read it before the socket closes.
  const expectsTls = (socket: Pick<Socket, 'localAddress'>): boolean =>
    isSecure && !(isWildcard && isLoopbackAddress(socket.localAddress ?? ''));
  const connections = createConnections({ streams, requests }, limits);
  const http = createHttp(optionsOf(limits), handler);
  http.maxHeadersCount = maxHeaderCount;
  http.prependListener('request', connections.addRequest);
  // Node would send `100 Continue` immediately. The reader of the body sends it instead, so that a refused request gets none.
  http.on('checkContinue', (request, response) => void http.emit('request', request, response));
  // Node starts its check for slow clients on this event. Another server listens here, so this server would never emit it.
  http.emit('listening');
  const startHttp = (socket: Socket): void => {
    if (connections.addHttpSocket(socket)) http.emit('connection', socket);
    else socket.destroy();
  };
  const tls = createTls({
    ...contextOf(identity),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: limits.headersMs,
  });
  tls.on('secureConnection', startHttp);
  tls.on('tlsClientError', (_cause, socket) => socket.destroy());
  const acceptor = createTcpServer({ allowHalfOpen: true, noDelay: true }, raw => {
    raw.on('error', () => raw.destroy());
    const isTls = expectsTls(raw);
    const isEither = !isTls && hasIdentity && isLocalhostAddress(raw.localAddress ?? '');
    connections.accept(raw, isTls, isEither);
    if (isTls || isEither)
      detectTls(raw, limits.headersMs, {
        tls: () => tls.emit('connection', raw),
        plain: isEither ? () => startHttp(raw) : null,
      });
    else startHttp(raw);
  });
  await listen(acceptor, host, port);
  const slowClientTimer = setInterval(connections.disconnectSlow, limits.checkMs).unref();
  return {
    port: portOf(acceptor.address()),
    setTls(now) {
      isSecure = now;
    },
    closeOtherProtocol: () => connections.close((raw, wasSecure) => wasSecure !== expectsTls(raw)),
    setCertificate(next) {
      hasIdentity = true;
      tls.setSecureContext(contextOf(next));
    },
    async close() {
      const closed = new Promise<void>(resolve => acceptor.close(() => resolve()));
      // This server does not listen, so this only stops Node's check for slow clients.
      http.close();
      clearInterval(slowClientTimer);
      await connections.close(() => true);
      await closed;
    },
  };
}

const optionsOf = ({ headersMs, idleMs, checkMs }: SocketLimits) => ({
  headersTimeout: headersMs,
  // Node can only set one limit for all bodies. connections.ts limits each body separately, because uploads may take longer.
  requestTimeout: 0,
  keepAliveTimeout: idleMs,
  connectionsCheckingInterval: checkMs,
  maxHeaderSize: maxHeaders,
});

const listen = (acceptor: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    acceptor.once('error', reject);
    acceptor.listen({ port, host, backlog: maxUnaccepted }, () => {
      acceptor.removeListener('error', reject);
      resolve();
    });
  });

function portOf(bound: AddressInfo | string | null): number {
  if (bound === null || typeof bound === 'string')
    throw new Error('the server listens on no network address');
  return bound.port;
}

/** The first byte of a TLS connection: a handshake record (RFC 8446, section 5.1). */
const handshake = 0x16;

/** Time in which the client can read the response and close the connection. */
const lingerMs = 1_000;

interface ProtocolHandlers {
  readonly tls: () => void;
  /** Null where plain HTTP is refused with a message. */
  readonly plain: (() => void) | null;
}

/**
 * Reads the first byte of a connection, puts it back, and starts TLS or plain HTTP. Closes a connection that sends any other
 * byte, or nothing within `withinMs`.
 */
function detectTls(raw: Socket, withinMs: number, handlers: ProtocolHandlers): void {
  const disconnect = (): void => void raw.destroy();
  raw.setTimeout(withinMs, disconnect);
  raw.once('end', disconnect);
  raw.once('data', (chunk: Buffer) => {
    raw.setTimeout(0);
    raw.removeListener('timeout', disconnect);
    raw.removeListener('end', disconnect);
    const [first = 0] = chunk;
    if (first === handshake) {
      raw.pause();
      raw.unshift(chunk);
      handlers.tls();
    } else if (/^[A-Z]$/.test(String.fromCharCode(first))) {
      if (handlers.plain === null) return refusePlain(raw);
      raw.pause();
      raw.unshift(chunk);
      handlers.plain();
      process.nextTick(() => raw.resume());
    } else {
      disconnect();
    }
  });
}

const plainHttpMessage = 'This port speaks https: call it by https:// instead of http://\n';

/**
 * Refuses plain HTTP without a redirect: the request, perhaps with a token, was already sent unencrypted, and its sender should
 * notice that.
 */
function refusePlain(raw: Socket): void {
  // Continues to read, because closing a socket with unread data would reset the connection, and the response might be lost.
  raw.resume();
  raw.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${plainHttpMessage.length}\r\n` +
      `Cache-Control: no-store\r\nConnection: close\r\n\r\n${plainHttpMessage}`,
  );
  const timer = setTimeout(() => raw.destroy(), lingerMs);
  raw.once('close', () => clearTimeout(timer));
}
