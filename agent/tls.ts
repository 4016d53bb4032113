import { createSecureContext, getCACertificates, TLSSocket } from 'node:tls';
import { Agent, buildConnector, fetch } from 'undici';
import type { Fetch } from '../protocol/client.ts';
import { type Pin, pinOf } from './pins.ts';

/** Whose word counts: keys that are known beforehand, authorities (in PEM) beside the usual ones, or anybody's. */
export type Voucher =
  | { readonly kind: 'pins'; readonly pins: readonly Pin[] }
  | { readonly kind: 'authorities'; readonly extra: readonly string[] }
  | { readonly kind: 'anybody' };

/**
 * `fetch` over TLS that writes nothing before it knows whom it speaks to. It is undici's own one: Node's takes no connector
 * of any other undici than the one inside it.
 */
export function openSecureFetch(voucher: Voucher): Fetch {
  // A stream lasts as long as its reader wants; whoever calls sets a limit of their own.
  const dispatcher = new Agent({ connect: connectorFor(voucher), bodyTimeout: 0 });
  return (url, init) => fetch(url, { ...init, dispatcher });
}

function connectorFor(voucher: Voucher): buildConnector.connector {
  switch (voucher.kind) {
    case 'pins':
      return pinned(voucher.pins);
    case 'anybody':
      return buildConnector({ allowH2: false, rejectUnauthorized: false });
    case 'authorities': {
      // Node leaves the system's own out by default. Made once: it reads some hundred certificates.
      const ca = [...getCACertificates('default'), ...getCACertificates('system'), ...voucher.extra];
      return buildConnector({ allowH2: false, secureContext: createSecureContext({ ca }) });
    }
  }
}

/**
 * Takes a connection when its server has shown that it holds one of the keys, and its certificate is within its dates.
 * Who has issued it, and for which names, does not count. No session is kept: each connection shows its key anew.
 */
function pinned(pins: readonly Pin[]): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, rejectUnauthorized: false, maxCachedSessions: 0 });
  return (options, callback) =>
    connect(options, (...[failure, socket]) => {
      if (failure !== null) return callback(failure, null);
      const refusal = refusalOf(socket instanceof TLSSocket ? socket : null, pins);
      if (refusal === null) return callback(null, socket);
      socket.destroy();
      return callback(refusal, null);
    });
}

/** Null when the connection may be used. */
function refusalOf(socket: TLSSocket | null, pins: readonly Pin[]): Error | null {
  const certificate = socket?.getPeerX509Certificate();
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
