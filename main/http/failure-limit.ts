import { isIPv4, isIPv6 } from 'node:net';

/** So many failures of one address in a row are answered; after that, one each so often. */
const burst = 60;
const oneEachMs = 1_000;
/** An address that is over its limit is told of again after this long. */
const tellAgainMs = 600_000;
/** More addresses than this are not kept apart: those that have been quiet for longest are forgotten. */
const mostAddresses = 10_000;

/** `count`: within the limit. `begin`: over it, for the first time in a while. `limited`: over it. */
export type FailureVerdict = 'count' | 'begin' | 'limited';

export interface FailureLimit {
  /** A call from there had no valid token. */
  note(address: string | null): FailureVerdict;
}

interface Bucket {
  readonly left: number;
  readonly at: number;
  readonly toldAt: number | null;
}

/**
 * A bucket of failures for each address; who calls with a valid token is never asked for it, so that rigs behind one
 * address are not shut out by one of them. `now` is a clock that runs forward only, in milliseconds.
 */
export function createFailureLimit(now: () => number): FailureLimit {
  const buckets = new Map<string, Bucket>();
  return {
    note(address) {
      const at = now();
      const key = networkOf(address ?? 'unknown');
      const known = buckets.get(key) ?? { left: burst, at, toldAt: null };
      const left = Math.min(burst, known.left + (at - known.at) / oneEachMs);
      const isWithin = left >= 1;
      const begins = !isWithin && (known.toldAt === null || at - known.toldAt >= tellAgainMs);
      // Put in anew, so that the map is in the order of the last failures.
      buckets.delete(key);
      buckets.set(key, { left: isWithin ? left - 1 : left, at, toldAt: begins ? at : known.toldAt });
      const [quietest] = buckets.keys();
      if (buckets.size > mostAddresses && quietest !== undefined) buckets.delete(quietest);
      if (isWithin) return 'count';
      return begins ? 'begin' : 'limited';
    },
  };
}

/** The address to count under: a customer has 2^64 addresses of version 6, and they count as one. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  // A machine calls itself by 2^24 addresses of version 4, and one of version 6.
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
