import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Request } from 'express';

/**
 * The proxies whose `X-Forwarded-For` is believed, as in Express' `trust proxy`: addresses, networks and their names, or how many
 * proxies every call passes. An empty list trusts nobody.
 */
export type TrustedProxies = number | readonly string[];

/** The client's address: the socket's, or the one that a trusted proxy names. Null once the connection is closed. */
export function addressOf(request: Request): string | null {
  const named = withoutPort(request.ip ?? '');
  return isIP(named) === 0 ? (request.socket.remoteAddress ?? null) : named;
}

/** Some proxies write the port behind the address: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string =>
  /^\[([\da-f:.]+)\](?::\d+)?$/i.exec(text)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(text)?.[1] ?? text;

/** Headers by which proxies, CDNs and tunnels describe a client. No browser and no client of ours sends one. */
const forwarding = [
  /^(?:forwarded|via|cdn-loop)$/,
  /^x-forward/,
  /^x-original-/,
  /^(?:x-)?(?:host|proxy|envoy|remote|real|appengine|azure|arr|amzn|vercel|nf|tailscale|fly|cf)-/,
  /^x-(?:host|rewrite-url)$/,
  /(?:^|-)(?:client|connecting|user|source|peer|cluster)-?ip(?:v6)?$/,
];

/**
 * Whether the caller runs on this machine. It fails closed: a header that only proxies send, the HTTP version that nginx speaks by
 * default, or a name that is not this machine's loopback mean that the caller may be anywhere.
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

/** A proxy passes on its public name, which may be a name of this machine as well. */
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

/** The one loopback address that the orchestrator always listens on. */
export const isHomeAddress = (address: string): boolean =>
  /^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/i.test(address);

/** Of a socket, as it says itself. */
export const isLoopbackAddress = (address: string): boolean => /^(?:::1$|(?:::ffff:)?127\.)/i.test(address);
