import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Request } from 'express';
import { uploadTokenHeaders } from '../../../protocol/storage-api.ts';

/** Reads the origin and the credentials of a request. Nothing is verified here. */

/** Headers in which a browser describes the origin of a request. Scripts do not send `origin` and `site`. */
export interface Provenance {
  /** The `Host` header of the request. */
  readonly host: string | null;
  readonly origin: string | null;
  /** `Sec-Fetch-Site`. */
  readonly site: string | null;
}

/** `own`: a page of this address. `foreign`: a page of another site. `unknown`: an old browser, or no browser. */
type OriginClass = 'own' | 'foreign' | 'unknown';

/**
 * Classifies the origin. Browsers send `Origin` with every request that changes state, and `Sec-Fetch-Site` with every request.
 */
function classifyOrigin({ host, origin, site }: Provenance): OriginClass {
  if (site !== null && site !== 'same-origin' && site !== 'none') return 'foreign';
  if (origin === null) return site === null ? 'unknown' : 'own';
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase() ? 'own' : 'foreign';
}

type Heads = Pick<IncomingMessage, 'headers'>;

export function provenanceOf({ headers }: Heads): Provenance {
  // If a header is repeated, Node joins the values with a comma. No browser sends such a value.
  const { host = null, origin = null, 'sec-fetch-site': site = null } = headers;
  return { host, origin, site };
}

export const isForeign = (provenance: Provenance): boolean => classifyOrigin(provenance) === 'foreign';

/**
 * Returns true if a browser request with a cookie comes from a page of this address. A GET request may lack proof of its
 * origin. A request that changes state must prove its origin, because browsers attach cookies to requests from any page.
 */
export function isOwnPage(request: Heads & Pick<IncomingMessage, 'method'>): boolean {
  const from = classifyOrigin(provenanceOf(request));
  return from === 'own' || (from === 'unknown' && request.method === 'GET');
}

/** Maximum number of headers per request. A browser behind two proxies sends about 40. Further headers are ignored. */
export const maxHeaderCount = 100;

/**
 * Returns all values of a header, in the order in which they were sent. `name` is in lower case. Node's `headers` would only
 * contain the first value of some headers (RFC 9110). `headersDistinct` would build a list for each header and keep it as long as
 * the request.
 */
export function headerValues(
  { rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>,
  name: string,
): readonly string[] {
  const values: string[] = [];
  const end = Math.min(rawHeaders.length, 2 * maxHeaderCount);
  for (let at = 0; at + 1 < end; at += 2) {
    const sent = rawHeaders[at] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
}

/**
 * Proxies whose `X-Forwarded-For` is trusted, as in Express' `trust proxy`: addresses, networks and their names, or the number of
 * proxies in front of the server. An empty list trusts no proxy.
 */
export type TrustedProxies = number | readonly string[];

/**
 * Returns the address that a trusted proxy reports for the client, or else the address of the socket. Null when the connection is
 * closed.
 */
export function addressOf(request: Request): string | null {
  const address = withoutPort(request.ip ?? '');
  return isIP(address) === 0 ? (request.socket.remoteAddress ?? null) : address;
}

/** Removes the port, which some proxies append: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string =>
  /^\[([\da-f:.]+)\](?::\d+)?$/i.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text;

/** Headers that proxies, CDNs and tunnels add. Browsers and Trainyard's own clients never send them. */
const forwarding = [
  /^(?:forwarded|via|cdn-loop)$/,
  /^x-forward/,
  /^x-original-/,
  /^(?:x-)?(?:host|proxy|envoy|remote|real|appengine|azure|arr|amzn|vercel|nf|tailscale|fly|cf)-/,
  /^x-(?:host|rewrite-url)$/,
  /(?:^|-)(?:client|connecting|user|source|peer|cluster)-?ip(?:v6)?$/,
];

/**
 * Returns true if the client certainly runs on this machine. Three signs suggest a proxy: a header that only proxies send,
 * HTTP/1.0 (nginx's default), or a host name other than loopback. Behind a proxy, the client may be anywhere.
 */
export function isFromHere(request: IncomingMessage): boolean {
  const { remoteAddress = '', localAddress = '' } = request.socket;
  const isOwn = isLoopbackAddress(remoteAddress) || remoteAddress === localAddress;
  return isOwn && !isForwarded(request) && isCalledByOwnAddress(request, localAddress);
}

function isForwarded({ headers, httpVersion }: IncomingMessage): boolean {
  const names = Object.keys(headers);
  return httpVersion !== '1.1' || names.some(name => forwarding.some(pattern => pattern.test(name)));
}

/**
 * Returns true if the `Host` header contains a loopback address or the socket's own address. A proxy forwards a public name,
 * which may also be a name of this machine.
 */
function isCalledByOwnAddress({ headers }: IncomingMessage, localAddress: string): boolean {
  const called = (headers.host ?? '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  return (
    /^(?:.+\.)?localhost\.?$/.test(called) || isLoopbackAddress(called) || called === plain(localAddress)
  );
}

const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '').toLowerCase();

/** Returns true for the loopback addresses on which the orchestrator always listens. */
export const isLocalhostAddress = (address: string): boolean =>
  /^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/i.test(address);

/** Returns true for any loopback address in Node's format of socket addresses. */
export const isLoopbackAddress = (address: string): boolean => /^(?:::1$|(?:::ffff:)?127\.)/i.test(address);

/**
 * Returns the bearer token; null when there is none. The values of several `Authorization` headers are joined, which yields an
 * invalid token, because a proxy may have checked only one of them.
 */
export function bearerOf(request: IncomingMessage): string | null {
  if (request.headers.authorization === undefined) return null;
  const [, token] = /^bearer +(.*)$/i.exec(headerValues(request, 'authorization').join(', ')) ?? [];
  return token ?? null;
}

/** Returns the upload token. Two headers may contain it. If their values differ, the result is an invalid token. */
export function uploadTokenOf({ headers }: IncomingMessage): string | null {
  const sent = uploadTokenHeaders.map(name => headers[name]).filter(value => value !== undefined);
  return sent.length === 0 ? null : [...new Set(sent.map(String))].join(', ');
}

/**
 * Returns the name of the session cookie. Over HTTPS, the name has the prefix `__Host-`, which browsers accept only over HTTPS.
 * The two names differ, so that a page over plain HTTP at the same address cannot replace the HTTPS cookie.
 */
export const sessionCookie = (request: IncomingMessage): string =>
  schemeOf(request) === 'https' ? '__Host-trainyard_session' : 'trainyard_session';

/** Returns the session token from the cookie; null when there is none. */
export function sessionOf(request: IncomingMessage): string | null {
  const cookies = (request.headers.cookie ?? '').split(';').map(part => part.trim());
  const name = sessionCookie(request);
  const token = cookies.find(part => part.startsWith(`${name}=`))?.slice(name.length + 1);
  return token !== undefined && isWellFormed(token) ? token : null;
}

/** Returns the credential of any kind that the request contains; null when it contains none. */
export function secretOf(request: IncomingMessage): string | null {
  const machine = request.headers['x-worker-token'] ?? uploadTokenOf(request) ?? undefined;
  return bearerOf(request) ?? (machine === undefined ? sessionOf(request) : String(machine));
}

/**
 * Returns the scheme that the client uses, which a proxy reports in `X-Forwarded-Proto`. A client can forge this header, but then
 * only gets a URL or cookie that it cannot use.
 */
export const schemeOf = (request: IncomingMessage): 'http' | 'https' =>
  request.socket instanceof TLSSocket || request.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';

/** Maximum length in characters. Longer tokens are rejected before they are hashed, because the server never issues any. */
const maxToken = 512;

export const isWellFormed = (token: string): boolean =>
  token.length <= maxToken && /^[\x21-\x7e]+$/.test(token);
