import { isIPv4, isIPv6 } from 'node:net';
import type { Request } from 'express';
import { type ProblemCode, type Refusal, refuse } from '../../../protocol/problem.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import { type Caller, hashOf } from './auth.ts';
import { addressOf, secretOf } from './sender.ts';

/** Returns the refusal to send: the given one, or "too many failures". `caller` is set if the request was authenticated. */
export type OnRefused = (request: Request, refusal: Refusal, caller?: Caller) => Refusal;

const unauthenticatedCodes: ReadonlySet<ProblemCode> = new Set([
  'token_missing',
  'token_invalid',
  'code_invalid',
  'join_token_invalid',
  'join_token_used',
]);

/** Number of hex digits of a hash in the audit trail. These digits distinguish wrong tokens, but are useless to an attacker. */
const hashDigits = 8;

const tooMany = refuse(
  'too_many_failures',
  'Too many requests without a valid token came from this address: wait a little, and check the token',
).refusal;

/**
 * Counts requests that fail authentication, records the hashes of their tokens in the audit trail, and throttles addresses that
 * keep failing.
 */
export function guardFailures(limit: FailureLimit, note: Orchestrator['access']['noteRefusal']): OnRefused {
  return (request, refusal, caller) => {
    const address = addressOf(request) ?? 'unknown';
    const call = callOf(request);
    const why = refusal.code;
    // The token of such a caller is valid, so its requests are not throttled. Only the number of audit rows is limited.
    if (why === 'not_your_worker' && caller?.kind === 'worker') {
      if (limit.note(caller.id) === 'count')
        note('auth.refused', address, call, { why, worker_id: caller.id }, caller.id);
      return refusal;
    }
    if (why === 'not_your_job' && caller?.kind === 'uploader') {
      const { jobId } = caller.uploader;
      if (limit.note(jobId) === 'count') note('auth.refused', address, call, { why, job_id: jobId }, jobId);
      return refusal;
    }
    if (!unauthenticatedCodes.has(why)) return refusal;
    const verdict = limit.note(address);
    if (verdict === 'begin') note('auth.limited', address, call, {}, networkOf(address));
    if (verdict !== 'count') return tooMany;
    const secret = secretOf(request);
    // A request without a credential is not an attempt to authenticate. Such a request comes from a visitor, or from a browser
    // before the sign-in.
    if (secret !== null || call.endsWith(` ${sessionApi.signIn.path}`)) {
      const hash = secret === null ? null : hashOf(secret).toString('hex').slice(0, hashDigits);
      note('auth.refused', address, call, { why, sha256: hash }, networkOf(address));
    }
    return refusal;
  };
}

/** Returns the method and the path, truncated. The query is left out, because it may contain secrets. */
const callOf = ({ method, originalUrl: url }: Request): string =>
  `${method} ${(url.split('?', 1)[0] ?? '').slice(0, 200)}`;

/** An address may fail this many times in a row, after that once per `oneEachMs`. */
const burst = 60;
const oneEachMs = 1_000;
/** While an address stays over the limit, it is reported once per this interval. */
const logAgainMs = 600_000;
/** Maximum number of addresses in memory. Above it, the address whose last failure is oldest is removed. */
const maxAddresses = 10_000;

/**
 * `count`: the address is within the limit. `begin`: it is over the limit and must be reported. `limited`: it is still over the
 * limit.
 */
export type FailureVerdict = 'count' | 'begin' | 'limited';

export interface FailureLimit {
  /** Counts a failed request from this address. */
  note(address: string | null): FailureVerdict;
}

interface Bucket {
  readonly left: number;
  readonly at: number;
  readonly loggedAt: number | null;
}

/**
 * Limits failures with a token bucket per address. Requests with a valid token are not counted, so a rig cannot lock out others
 * behind the same address. `now` is a monotonic clock in milliseconds.
 */
export function createFailureLimit(now: () => number): FailureLimit {
  const buckets = new Map<string, Bucket>();
  return {
    note(address) {
      const at = now();
      const key = networkOf(address ?? 'unknown');
      const bucket = buckets.get(key) ?? { left: burst, at, loggedAt: null };
      const left = Math.min(burst, bucket.left + (at - bucket.at) / oneEachMs);
      const isWithin = left >= 1;
      const begins = !isWithin && (bucket.loggedAt === null || at - bucket.loggedAt >= logAgainMs);
      // The entry is inserted again, so that the map is sorted by last failure.
      buckets.delete(key);
      buckets.set(key, { left: isWithin ? left - 1 : left, at, loggedAt: begins ? at : bucket.loggedAt });
      const [quietest] = buckets.keys();
      if (buckets.size > maxAddresses && quietest !== undefined) buckets.delete(quietest);
      if (isWithin) return 'count';
      return begins ? 'begin' : 'limited';
    },
  };
}

/** Returns the key for counting. An IPv6 customer has 2^64 addresses, which share a key. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  // All loopback addresses share a key: IPv4 has 2^24 of them, IPv6 one.
  if (plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'))) return 'loopback';
  if (!isIPv6(plain)) return plain;
  const [withoutZone = ''] = plain.split('%', 1);
  return ipv6Groups(withoutZone)
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/** Returns the eight groups of an IPv6 address. `::` stands for as many zeros as are missing. */
function ipv6Groups(address: string): readonly string[] {
  const [head = '', tail = ''] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  if (!address.includes('::')) return before;
  const after = tail === '' ? [] : tail.split(':');
  const missing = Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array.from({ length: missing }, () => '0'), ...after];
}
