import { connect, createServer, type Server } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { createNotices } from '../notices.ts';
import type { Identity } from './identity.ts';

/** A TLS server that records all received data. It closes after the test. */
export interface Listener {
  readonly url: string;
  /** The port in `url`. */
  readonly port: number;
  /** Returns the number of connections so far. */
  connections(): number;
  /** Resolves when this many connections have ended. */
  ended(count: number): Promise<void>;
  /** Returns all received bytes before decryption. */
  wire(): Buffer;
  /** Returns all decrypted text so far. It is empty if a client has refused the server's certificate. */
  received(): string;
  /** Resolves when the decrypted data contains this text. */
  waitForText(text: string): Promise<void>;
  /** Returns the number of connections that resumed an earlier TLS session. */
  resumed(): number;
  /** Changes the key and the certificate for later connections. Session tickets stay valid. */
  present(identity: Identity): void;
}

export interface ListenerOptions {
  /** URL of a server to which the listener forwards the decrypted data. By default, each request gets `answer`. */
  readonly to?: string;
  /** A complete HTTP response as text. */
  readonly answer?: string;
  readonly tls?: Pick<TlsOptions, 'maxVersion'>;
}

export const httpAnswer = (
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): string =>
  [
    `HTTP/1.1 ${status} x`,
    ...Object.entries({ 'content-length': String(body.length), ...headers }).map(([k, v]) => `${k}: ${v}`),
    '',
    body,
  ].join('\r\n');

export async function startListener(identity: Identity, options: ListenerOptions = {}): Promise<Listener> {
  const { to, answer = httpAnswer(200, '{"success":true}') } = options;
  let received = '';
  let resumed = 0;
  const receivedNotices = createNotices();
  const tlsServer = createTlsServer({ ...options.tls, key: identity.key, cert: identity.cert }, socket => {
    if (socket.isSessionReused()) resumed += 1;
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      receivedNotices.changed();
    });
    if (to === undefined) {
      socket.on('data', () => void socket.write(answer));
      return;
    }
    const upstream = connect(Number(new URL(to).port), '127.0.0.1');
    upstream.on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    upstream.on('close', () => socket.end());
    socket.pipe(upstream).pipe(socket);
  });
  const innerPort = await listen(tlsServer);
  const relay = createRelay(innerPort);
  const port = await listen(relay.server);
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    ...relay,
    received: () => received,
    async waitForText(text) {
      await receivedNotices.waitFor(text, () => received.includes(text));
    },
    resumed: () => resumed,
    present: ({ key, cert }) =>
      tlsServer.setSecureContext({ key, cert, ticketKeys: tlsServer.getTicketKeys() }),
  };
}

/** Creates a TCP relay in front of the TLS server. It records all bytes before decryption, and the end of each connection. */
function createRelay(innerPort: number) {
  const chunks: Buffer[] = [];
  const closed = createNotices();
  let opened = 0;
  let ended = 0;
  const server = createServer(socket => {
    opened += 1;
    const inner = connect(innerPort, '127.0.0.1');
    socket.on('data', chunk => chunks.push(Buffer.from(chunk)));
    for (const [from, to] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      from.on('error', () => to.end());
      from.pipe(to);
    }
    socket.on('close', () => {
      ended += 1;
      closed.changed();
    });
  });
  return {
    server,
    connections: () => opened,
    wire: () => Buffer.concat(chunks),
    async ended(count: number): Promise<void> {
      await closed.waitFor(`the end of ${count} connections`, () => ended >= count);
    },
  };
}

async function listen(server: Server): Promise<number> {
  const open = new Set<{ destroy(): void }>();
  server.on('connection', socket => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP port');
  return address.port;
}
