import { describe, expect, test } from 'vitest';
import { byReach, isLoopback, ownAddresses, reachOf } from '../../../../main/host/addresses.ts';

const makeAddress = (name: string, address = '192.0.2.7') =>
  ({ address, family: 'IPv4', interface: name }) as const;

describe('reachOf and byReach', () => {
  // `reachOf` returns null for an address in the local network (LAN).
  test.each([
    ['lo', '127.0.0.1', 'loopback'],
    ['lo', '::1', 'loopback'],
    ['eth0', '192.0.2.7', null],
    ['enp3s0', '192.0.2.7', null],
    ['wlan0', '192.0.2.7', null],
    ['en0', '192.0.2.7', null],
    ['docker0', '172.17.0.1', 'virtual'],
    ['br-9f1e', '172.18.0.1', 'virtual'],
    ['virbr0', '192.168.122.1', 'virtual'],
    ['tailscale0', '100.64.0.7', 'vpn'],
    ['wg0', '10.9.0.7', 'vpn'],
  ])('classifies interface %s with address %s as %s', (name, address, reach) => {
    expect(reachOf(makeAddress(name, address))).toBe(reach);
  });

  test('sorts addresses by reach: LAN, VPN, virtual, loopback', () => {
    const addresses = [
      makeAddress('lo', '127.0.0.1'),
      makeAddress('docker0'),
      makeAddress('wg0'),
      { ...makeAddress('eth0', 'fd00::7'), family: 'IPv6' as const },
      makeAddress('eth0'),
    ];
    expect(addresses.toSorted(byReach).map(({ interface: name, family }) => `${name} ${family}`)).toEqual([
      'eth0 IPv4',
      'eth0 IPv6',
      'wg0 IPv4',
      'docker0 IPv4',
      'lo IPv4',
    ]);
  });
});

test.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.8.8.8', true],
  ['::1', true],
  ['[::1]', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['192.0.2.7', false],
])('classifies the host %s as loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

test("returns all of the machine's addresses except link-local addresses", () => {
  const addresses = ownAddresses();
  expect(addresses).toContainEqual({ address: '127.0.0.1', family: 'IPv4', interface: expect.any(String) });
  expect(addresses.filter(({ address }) => address.startsWith('fe80'))).toEqual([]);
});
