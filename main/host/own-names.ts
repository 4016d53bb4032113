import { hostname } from 'node:os';
import { isLoopback, isWildcard, type MachineAddress } from './addresses.ts';

/**
 * Minimum time between two reads of the machine's addresses. An unknown name triggers a read, because addresses can change.
 * Without the minimum, each unauthenticated request could trigger a read.
 */
const minReadIntervalMs = 5_000;

export interface OwnNamesDeps {
  readonly mono: () => number;
  /** Returns the current addresses of this machine. */
  readonly addresses: () => readonly MachineAddress[];
  /** Additional names of the machine, in lower case. */
  readonly others: () => readonly string[];
}

/**
 * Creates a function that returns true if a name or address belongs to this machine. The function expects lower case, without
 * port or brackets.
 */
export function createOwnNames({ mono, addresses, others }: OwnNamesDeps): (name: string) => boolean {
  let names: ReadonlySet<string> = new Set();
  let readAt = Number.NEGATIVE_INFINITY;
  const isKnown = (name: string): boolean => {
    if (names.has(name)) return true;
    if (mono() - readAt < minReadIntervalMs) return false;
    readAt = mono();
    names = namesNow(addresses());
    return names.has(name);
  };
  return name =>
    isLoopback(name) ||
    name.endsWith('.localhost') ||
    others().some(pattern => isMatch(pattern, name)) ||
    isKnown(name);
}

/** Returns the host names from `--allow-host`, the public URL, and a certificate that the owner supplied. */
export const namesGiven = (
  allowHosts: readonly string[],
  publicUrl: string | null,
  certificate: { readonly source: string; readonly names: readonly string[] } | null,
): readonly string[] => [
  ...allowHosts,
  ...(publicUrl === null ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')]),
  ...(certificate?.source === 'files' ? certificate.names : []),
];

/** Compares two names. As in certificates, `*.example.org` matches exactly one label. */
const isMatch = (pattern: string, name: string): boolean =>
  pattern === name ||
  (pattern.startsWith('*.') && name.includes('.') && pattern.slice(1) === name.slice(name.indexOf('.')));

/** Returns the names for the certificate, without the wildcard addresses `0.0.0.0` and `::`. */
export const certificateNames = (
  addresses: readonly MachineAddress[],
  others: readonly string[],
): readonly string[] =>
  [...new Set([...loopback, ...namesNow(addresses), ...others.map(name => name.toLowerCase())])].filter(
    name => !isWildcard(name),
  );

/** Included in the certificate, because clients on this machine may use TLS as well. */
const loopback = ['localhost', '127.0.0.1', '::1'];

function namesNow(addresses: readonly MachineAddress[]): ReadonlySet<string> {
  const name = hostname().toLowerCase();
  const short = name.split('.', 1)[0] ?? name;
  return new Set([name, short, `${short}.local`, ...addresses.map(({ address }) => address.toLowerCase())]);
}
