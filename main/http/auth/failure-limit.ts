import { isIPv4, isIPv6 } from 'node:net';

/** An address may fail this many times in a row; after that, once per `oneEachMs`. */
const burst = 60;
const oneEachMs = 1_000;
/** The limiter reports an address that stays over its limit once per this interval. */
const logAgainMs = 600_000;
/** Above this number, the limiter forgets the addresses whose last failure is oldest. */
const maxAddresses = 10_000;

/** `count`: within the limit. `begin`: over the limit, for the first time in a while. `limited`: still over the limit. */
export type FailureVerdict = 'count' | 'begin' | 'limited';

export interface FailureLimit {
  /** Records a request without a valid token from this address. */
  note(address: string | null): FailureVerdict;
}

interface Bucket {
  readonly left: number;
  readonly at: number;
  readonly loggedAt: number | null;
}

/**
 * Keeps a token bucket of failures per address. Requests with a valid token bypass it, so one rig cannot lock out others behind the same
 * address. `now` is a monotonic clock in milliseconds.
 */
export function createFailureLimit(now: () => number): FailureLimit {
  const buckets = new Map<string, Bucket>();
  return {
    note(address) {
      const at = now();
      const key = networkOf(address ?? 'unknown');
      const known = buckets.get(key) ?? { left: burst, at, loggedAt: null };
      const left = Math.min(burst, known.left + (at - known.at) / oneEachMs);
      const isWithin = left >= 1;
      const begins = !isWithin && (known.loggedAt === null || at - known.loggedAt >= logAgainMs);
      // Reinsert the entry, so that the map stays sorted by last failure.
      buckets.delete(key);
      buckets.set(key, { left: isWithin ? left - 1 : left, at, loggedAt: begins ? at : known.loggedAt });
      const [quietest] = buckets.keys();
      if (buckets.size > maxAddresses && quietest !== undefined) buckets.delete(quietest);
      if (isWithin) return 'count';
      return begins ? 'begin' : 'limited';
    },
  };
}

/** Returns the key to count under. An IPv6 customer has 2^64 addresses, which count as one. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  // Loopback has 2^24 IPv4 addresses and one IPv6 address.
  if (plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'))) return 'loopback';
  if (!isIPv6(plain)) return plain;
  const [head = '', tail = ''] = plain.split('%', 1)[0]?.split('::') ?? [];
  const before = head === '' ? [] : head.split(':');
  const after = tail === '' ? [] : tail.split(':');
  const groups = plain.includes('::')
    ? [
        ...before,
        ...Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0'),
        ...after,
      ]
    : before;
  return groups
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':');
}
