// Tests the limit on failed authentications of each address. See docs/internals/faults.md, S13.
import { expect, test } from 'vitest';
import { createFailureLimit, type FailureVerdict } from '../../../../../main/http/auth/failures.ts';

function openLimit() {
  let now = 1e6;
  const limit = createFailureLimit(() => now);
  return {
    wait: (ms: number): void => {
      now += ms;
    },
    // Records `times` failures. Returns how many of them got each verdict.
    fail: (address: string | null, times = 1): Record<FailureVerdict, number> => {
      const counts = { count: 0, begin: 0, limited: 0 };
      for (let n = 0; n < times; n += 1) counts[limit.note(address)] += 1;
      return counts;
    },
  };
}

test('counts a burst of 60 failed authentications, reports the start of the limit once, and limits later failures', () => {
  const { fail } = openLimit();
  expect(fail('10.0.0.1', 2_000)).toEqual({ count: 60, begin: 1, limited: 1_939 });
});

test('counts one failed authentication per second after the burst, and at most one burst after a quiet hour', () => {
  const { fail, wait } = openLimit();
  fail('10.0.0.1', 100);
  wait(3_000);
  expect(fail('10.0.0.1', 10)).toEqual({ count: 3, begin: 0, limited: 7 });
  wait(3_600_000);
  expect(fail('10.0.0.1', 61)).toEqual({ count: 60, begin: 1, limited: 0 });
});

test('reports the start of the limit again when an address still fails to authenticate after ten minutes', () => {
  const { fail, wait } = openLimit();
  fail('10.0.0.1', 61);
  wait(599_000);
  fail('10.0.0.1', 60);
  expect(fail('10.0.0.1')).toEqual({ count: 0, begin: 0, limited: 1 });
  wait(1_000);
  expect(fail('10.0.0.1', 2)).toEqual({ count: 1, begin: 1, limited: 0 });
});

test.each([
  ['another address', '10.0.0.1', '10.0.0.2'],
  ['another IPv6 network', '2001:db8:0:1::1', '2001:db8:0:2::1'],
  ['an unknown address', '10.0.0.1', null],
])('counts a separate burst for %s', (_case, first, second) => {
  const { fail } = openLimit();
  fail(first, 100);
  expect(fail(second)).toEqual({ count: 1, begin: 0, limited: 0 });
});

test.each([
  ['the IPv4-mapped form of an address', '10.0.0.1', '::ffff:10.0.0.1'],
  ['another address of the same machine', '127.0.0.1', '127.9.8.7'],
  ['the IPv6 loopback', '127.0.0.1', '::1'],
  ['a neighbour in the same IPv6 network', '2001:db8:0:1::1', '2001:db8:0:1:ffff:1:2:3'],
  ['the long form of an IPv6 network', '2001:db8::1', '2001:0db8:0000:0000:0000:0000:0000:0002'],
  ['the same link-local network on another interface', 'fe80::1%eth0', 'fe80::2%wlan0'],
])('counts %s together with the first address', (_case, first, second) => {
  const { fail } = openLimit();
  fail(first, 61);
  expect(fail(second)).toEqual({ count: 0, begin: 0, limited: 1 });
});

test('remembers 10,000 addresses, and then forgets the address whose last failure is the oldest', () => {
  const { fail } = openLimit();
  fail('10.0.0.1', 61);
  fail('10.0.0.2', 61);
  // The limit now remembers 10,000 addresses, its maximum.
  for (let n = 0; n < 9_998; n += 1) fail(`10.1.${n >> 8}.${n & 255}`);
  fail('10.0.0.1');
  fail('10.9.9.9');
  expect(fail('10.0.0.1')).toMatchObject({ count: 0 });
  expect(fail('10.0.0.2')).toMatchObject({ count: 1 });
});
