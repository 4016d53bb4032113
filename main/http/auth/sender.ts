import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Request } from 'express';
import { uploadTokenHeaders } from '../../../protocol/storage-api.ts';

/** Reads from a request where it comes from and which credentials it carries. This file verifies no credential. */

/** What a browser states about the origin of a request. Scripts send none of it. */
export interface Provenance {
  /** The `Host` header of the request. */
  readonly host: string | null;
  readonly origin: string | null;
  /** `Sec-Fetch-Site`. */
  readonly site: string | null;
}

/** `own`: a page of this address. `foreign`: a page of another site. `unknown`: an old browser, or no browser. */
type Whence = 'own' | 'foreign' | 'unknown';

/** Browsers send `Origin` with every request that changes state, and `Sec-Fetch-Site` with every request. */
function whence({ host, origin, site }: Provenance): Whence {
  if (site !== null && site !== 'same-origin' && site !== 'none') return 'foreign';
  if (origin === null) return site === null ? 'unknown' : 'own';
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase() ? 'own' : 'foreign';
}

type Heads = Pick<IncomingMessage, 'headers'>;

export function provenanceOf({ headers }: Heads): Provenance {
  // Node joins a repeated header with a comma, and no browser sends such a value.
  const { host = null, origin = null, 'sec-fetch-site': site = null } = headers;
  return { host, origin, site };
}

export const isForeign = (provenance: Provenance): boolean => whence(provenance) === 'foreign';

/**
 * Browsers attach cookies to requests of any page. A request that changes state must therefore prove that it comes from a page of this
 * address.
 */
export function isOwnPage(request: Heads & Pick<IncomingMessage, 'method'>): boolean {
  const from = whence(provenanceOf(request));
  return from === 'own' || (from === 'unknown' && request.method === 'GET');
}

/** Headers per request. A browser behind two proxies sends about 40. The server ignores further ones. */
export const maxHeaderCount = 100;

/**
 * Returns every value of a header in the order sent; `name` is in lower case. `headers` keeps only the first value of single-value headers
 * (RFC 9110). `headersDistinct` would build a list per header and keep it as long as the request.
 */
export function sentAs({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): readonly string[] {
  const values: string[] = [];
  const end = Math.min(rawHeaders.length, 2 * maxHeaderCount);
  for (let at = 0; at + 1 < end; at += 2) {
    const sent = rawHeaders[at] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
}

/**
 * Proxies whose `X-Forwarded-For` the server trusts, as in Express' `trust proxy`: addresses, networks and their names, or the number of
 * proxies in front of the server. An empty list trusts no proxy.
 */
export type TrustedProxies = number | readonly string[];

/** Returns the client's address: the one that a trusted proxy reports, or else the socket's. Null once the connection is closed. */
export function addressOf(request: Request): string | null {
  const named = withoutPort(request.ip ?? '');
  return isIP(named) === 0 ? (request.socket.remoteAddress ?? null) : named;
}

/** Some proxies append the port to the address: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string =>
  /^\[([\da-f:.]+)\](?::\d+)?$/i.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text;

/** Headers in which proxies, CDNs and tunnels describe a client. Browsers and Trainyard's own clients never send them. */
const forwarding = [
  /^(?:forwarded|via|cdn-loop)$/,
  /^x-forward/,
  /^x-original-/,
  /^(?:x-)?(?:host|proxy|envoy|remote|real|appengine|azure|arr|amzn|vercel|nf|tailscale|fly|cf)-/,
  /^x-(?:host|rewrite-url)$/,
  /(?:^|-)(?:client|connecting|user|source|peer|cluster)-?ip(?:v6)?$/,
];

/**
 * Returns true when the client runs on this machine. It fails closed. A header that only proxies send, HTTP/1.0 (nginx's default) or a host
 * name other than loopback means that the client may be anywhere.
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

/** A proxy forwards its public name, which may also be a name of this machine. */
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

/** The loopback addresses that the orchestrator always listens on. */
export const isHomeAddress = (address: string): boolean =>
  /^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/i.test(address);

/** Tests a socket address in the format that Node reports. */
export const isLoopbackAddress = (address: string): boolean => /^(?:::1$|(?:::ffff:)?127\.)/i.test(address);

/**
 * Returns the bearer token, or null when the request has none. Two `Authorization` headers count as none, because a proxy may have checked
 * the other one.
 */
export function bearerOf(request: IncomingMessage): string | null {
  if (request.headers.authorization === undefined) return null;
  const [, token] = /^bearer +(.*)$/i.exec(sentAs(request, 'authorization').join(', ')) ?? [];
  return token ?? null;
}

/** Returns the upload token. Both headers may carry it if they agree; a token that appears twice with different values is invalid. */
export function uploadTokenOf({ headers }: IncomingMessage): string | null {
  const sent = uploadTokenHeaders.map(name => headers[name]).filter(value => value !== undefined);
  return sent.length === 0 ? null : [...new Set(sent.map(String))].join(', ');
}

/**
 * The name of the session cookie. Over HTTPS it has the `__Host-` prefix, which browsers accept only over HTTPS. The two names differ, so
 * that a plain-HTTP page at the same address cannot replace the HTTPS cookie.
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

/** Returns the credential that the request carries, of any kind; null when it carries none. */
export function secretOf(request: IncomingMessage): string | null {
  const machine = request.headers['x-worker-token'] ?? uploadTokenOf(request) ?? undefined;
  return bearerOf(request) ?? (machine === undefined ? sessionOf(request) : String(machine));
}

/**
 * The scheme that the client uses, possibly with a proxy. A client may forge this header, but harms only itself: it gets a URL or a cookie
 * that it cannot use.
 */
export const schemeOf = (request: IncomingMessage): 'http' | 'https' =>
  request.socket instanceof TLSSocket || request.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';

/** In characters. The server rejects longer tokens before it hashes them, because it never issues any. */
const maxToken = 512;

export const isWellFormed = (token: string): boolean =>
  token.length <= maxToken && /^[\x21-\x7e]+$/.test(token);
