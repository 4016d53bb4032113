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
import { type Pin, pinOf } from './pins.ts';

/** Whose word counts: keys that are known beforehand, authorities (in PEM) beside the usual ones, or anybody's. */
export type Voucher =
  | { readonly kind: 'pins'; readonly pins: readonly Pin[] }
  | { readonly kind: 'authorities'; readonly extra: readonly string[] }
  | { readonly kind: 'anybody' };

/** A handshake that takes longer is none. */
const connectWithinMs = 10_000;

/**
 * `fetch` over TLS that writes nothing before it knows whom it speaks to: a call is given its connection when that was
 * looked at, and not before. No session is kept, so that each connection shows its key anew.
 */
export function openSecureFetch(voucher: Voucher): Send {
  const { options, refusalOf } = checksOf(voucher);
  const agent = new Agent({ keepAlive: true });
  agent.createConnection = ({ host, port }, callback) => {
    const to = host ?? '';
    const servername = isIP(to) === 0 ? to : '';
    const socket = connect({
      host: to,
      port: Number(port),
      servername,
      ALPNProtocols: ['http/1.1'],
      ...options,
    });
    const fail = (cause: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      // Nobody looks at the connection when there is an error.
      callback?.(cause, socket);
    };
    const timer = setTimeout(() => fail(coded('ETIMEDOUT', 'the connection took too long')), connectWithinMs);
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
  /** Of a connection that was made as the options say; null when it may be used. */
  readonly refusalOf: (socket: TLSSocket) => Error | null;
}

function checksOf(voucher: Voucher): Checks {
  switch (voucher.kind) {
    case 'pins':
      return {
        options: { rejectUnauthorized: false },
        refusalOf: socket => refusalByPin(socket, voucher.pins),
      };
    case 'anybody':
      return { options: { rejectUnauthorized: false }, refusalOf: () => null };
    case 'authorities': {
      // Node leaves the system's own out by default. Made once: it reads some hundred certificates.
      const ca = [...getCACertificates('default'), ...getCACertificates('system'), ...voucher.extra];
      return {
        options: { rejectUnauthorized: true, secureContext: createSecureContext({ ca }) },
        refusalOf: () => null,
      };
    }
  }
}

/**
 * The server has shown that it holds one of the keys, and its certificate is within its dates. Who has issued it, and for which
 * names, does not count.
 */
function refusalByPin(socket: TLSSocket, pins: readonly Pin[]): Error | null {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return coded('ERR_PIN_MISMATCH', 'it presented no key');
  const presented = pinOf(certificate);
  if (!pins.includes(presented)) return coded('ERR_PIN_MISMATCH', `it presented ${presented}`);
  const now = Date.now();
  if (now > certificate.validToDate.getTime()) return coded('CERT_HAS_EXPIRED', 'certificate has expired');
  if (now < certificate.validFromDate.getTime())
    return coded('CERT_NOT_YET_VALID', 'certificate is not yet valid');
  return null;
}

/** As Node's errors are, so that they are told by the same words. */
const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });
