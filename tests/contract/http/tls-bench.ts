// Servers with TLS at 127.0.0.2, which represents an address in a network.
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect, type ConnectionOptions, type PeerCertificate } from 'node:tls';
import { onTestFinished } from 'vitest';
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/server.ts';

export const networkAddress = '127.0.0.2';
export const interfaces = [
  { address: '127.0.0.1', family: 'IPv4', interface: 'lo' },
  { address: networkAddress, family: 'IPv4', interface: 'eth0' },
] as const;

export async function openTlsServer({ config, ...options }: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer({
    addresses: () => interfaces,
    config: { host: networkAddress, isSecure: true, fixedBy: { host: '--host', ssl: '--ssl' }, ...config },
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

export const portOf = (server: TestServer): number => Number(new URL(server.url).port);
export const networkUrl = (server: TestServer): string => `https://${networkAddress}:${portOf(server)}`;

interface TlsRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly tls?: ConnectionOptions;
}

// Makes a call over TLS. Verifies the certificate only if `tls` has `rejectUnauthorized`.
export function callTls(url: string, { method = 'GET', headers = {}, body, tls = {} }: TlsRequest = {}) {
  interface TlsResponse {
    readonly status: number;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
    readonly body: string;
  }
  return new Promise<TlsResponse>((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const outgoing = request(
      url,
      {
        method,
        agent: false,
        rejectUnauthorized: false,
        timeout: 10_000,
        ...tls,
        headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
      },
      response => {
        let received = '';
        response.setEncoding('utf8').on('data', (part: string) => (received += part));
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
        );
        response.once('error', reject);
      },
    );
    outgoing.once('timeout', () => outgoing.destroy(new Error('no response within 10 s')));
    outgoing.once('error', reject);
    outgoing.end(text);
  });
}

export interface Handshake {
  readonly certificate: PeerCertificate;
  readonly protocol: string | null;
}

export const handshake = (url: string, options: ConnectionOptions = {}): Promise<Handshake> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve({ certificate: socket.getPeerCertificate(), protocol: socket.getProtocol() });
      socket.destroy();
    });
  });

// Sends raw text. Resolves with all received data when the connection has ended.
export const sendRaw = (url: string, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connectPlain(Number(port), hostname, () => socket.write(text));
    let received = '';
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    socket.once('close', () => resolve(received));
    socket.once('error', reject);
  });
