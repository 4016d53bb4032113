import { Agent, request } from 'node:https';
import { isIP } from 'node:net';
import {
  connect,
  type ConnectionOptions,
  createSecureContext,
  getCACertificates,
  type TLSSocket,
} from 'node:tls';
import { fetchBy, type Send } from './http-fetch.ts';
import { type Pin, pinOf } from './trust.ts';

/** Verifies the server by its key, or by the system's authorities and those in `extra` (PEM), or not at all. */
export type ServerCheck =
  | { readonly kind: 'pins'; readonly pins: readonly Pin[] }
  | { readonly kind: 'authorities'; readonly extra: readonly string[] }
  | { readonly kind: 'any_server' };

/** Timeout for a connection, including its handshake. */
const connectWithinMs = 10_000;

/**
 * Creates a `fetch` over TLS that verifies the server before it sends any data. It does not resume TLS sessions, so the
 * server must prove its key on each connection.
 */
export function openSecureFetch(serverCheck: ServerCheck): Send {
  const { options, refusalOf } = checksOf(serverCheck);
  const agent = new Agent({ keepAlive: true });
  agent.createConnection = ({ host, port }, callback) => {
    const serverHost = host ?? '';
    const servername = isIP(serverHost) === 0 ? serverHost : '';
    const socket = connect({
      host: serverHost,
      port: Number(port),
      servername,
      ALPNProtocols: ['http/1.1'],
      ...options,
    });
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      // The callback ignores the socket when there is an error.
      callback?.(cause, socket);
    };
    const timer = setTimeout(
      () => fail(errorWithCode('ETIMEDOUT', 'the connection took too long')),
      connectWithinMs,
    );
    socket.once('error', fail);
    socket.once('secureConnect', () => {
      const refusal = refusalOf(socket);
      if (refusal !== null) return fail(refusal);
      clearTimeout(timer);
      socket.off('error', fail);
      return callback?.(null, socket);
    });
    return undefined;
  };
  return fetchBy((url, init, onAnswer) => request(url, { ...init, agent }, onAnswer));
}

interface Checks {
  readonly options: ConnectionOptions;
  /** Returns why a connection with these options must not be used; null when it is safe. */
  readonly refusalOf: (socket: TLSSocket) => Error | null;
}

function checksOf(serverCheck: ServerCheck): Checks {
  switch (serverCheck.kind) {
    case 'pins':
      return {
        options: { rejectUnauthorized: false },
        refusalOf: socket => refusalByPin(socket, serverCheck.pins),
      };
    case 'any_server':
      return { options: { rejectUnauthorized: false }, refusalOf: () => null };
    case 'authorities': {
      // By default, Node ignores the system's authorities. Create the context once, because it parses hundreds of certificates.
      const ca = [...getCACertificates('default'), ...getCACertificates('system'), ...serverCheck.extra];
      return {
        options: { rejectUnauthorized: true, secureContext: createSecureContext({ ca }) },
        refusalOf: () => null,
      };
    }
  }
}

/**
 * Returns null for a server with one of the keys and a certificate that is valid now. The issuer and the names in the
 * certificate do not matter.
 */
function refusalByPin(socket: TLSSocket, pins: readonly Pin[]): Error | null {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return errorWithCode('ERR_PIN_MISMATCH', 'it presented no key');
  const presented = pinOf(certificate);
  if (!pins.includes(presented)) return errorWithCode('ERR_PIN_MISMATCH', `it presented ${presented}`);
  const now = Date.now();
  if (now > certificate.validToDate.getTime())
    return errorWithCode('CERT_HAS_EXPIRED', 'certificate has expired');
  if (now < certificate.validFromDate.getTime())
    return errorWithCode('CERT_NOT_YET_VALID', 'certificate is not yet valid');
  return null;
}

/** Creates an error with a code like Node's TLS errors, so that the user sees the same messages for both. */
const errorWithCode = (code: string, message: string): Error => Object.assign(new Error(message), { code });
