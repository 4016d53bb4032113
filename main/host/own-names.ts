import { hostname } from 'node:os';
import { isLoopback, isWildcard, type MachineAddress } from './addresses.ts';

/** A machine gets new addresses while it runs: they are looked up again, but not with every call of a stranger. */
const lookAgainMs = 5_000;

export interface OwnNamesParts {
  readonly mono: () => number;
  /** Of this machine, as they are now. */
  readonly addresses: () => readonly MachineAddress[];
  /** Beside those that the machine has by itself; in lower case. */
  readonly others: () => readonly string[];
}

/** Whether this machine goes by a name or an address: in lower case, without port and brackets. */
export function createOwnNames({ mono, addresses, others }: OwnNamesParts): (name: string) => boolean {
  let known: ReadonlySet<string> = new Set();
  let lookedAt = Number.NEGATIVE_INFINITY;
  const isKnown = (name: string): boolean => {
    if (known.has(name)) return true;
    if (mono() - lookedAt < lookAgainMs) return false;
    lookedAt = mono();
    known = namesNow(addresses());
    return known.has(name);
  };
  return name =>
    isLoopback(name) ||
    name.endsWith('.localhost') ||
    others().some(other => isMatch(other, name)) ||
    isKnown(name);
}

/** The certificate files that an owner gives name the hosts that the server may be called by. */
export const namesGiven = (
  allowHosts: readonly string[],
  publicUrl: string | null,
  certificate: { readonly source: string; readonly names: readonly string[] } | null,
): readonly string[] => [
  ...allowHosts,
  ...(publicUrl === null ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')]),
  ...(certificate?.source === 'files' ? certificate.names : []),
];

/** As in a certificate, `*.example.org` stands for one label. */
const isMatch = (other: string, name: string): boolean =>
  other === name ||
  (other.startsWith('*.') && name.includes('.') && other.slice(1) === name.slice(name.indexOf('.')));

/** What it may be called by with TLS; `0.0.0.0` and `::` are nobody's name. */
export const certificateNames = (
  addresses: readonly MachineAddress[],
  others: readonly string[],
): readonly string[] =>
  [...new Set([...loopback, ...namesNow(addresses), ...others.map(name => name.toLowerCase())])].filter(
    name => !isWildcard(name),
  );

/** On the machine itself it speaks TLS as well. */
const loopback = ['localhost', '127.0.0.1', '::1'];

function namesNow(addresses: readonly MachineAddress[]): ReadonlySet<string> {
  const name = hostname().toLowerCase();
  const short = name.split('.', 1)[0] ?? name;
  return new Set([name, short, `${short}.local`, ...addresses.map(({ address }) => address.toLowerCase())]);
}
