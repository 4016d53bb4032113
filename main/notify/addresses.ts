import { BlockList, isIP } from 'node:net';

/**
 * Networks that are not public (IANA special-purpose registries, RFC 6890): loopback, private, link-local (with the metadata
 * services of clouds), and others.
 */
const nonPublic4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;

/** Parts of 2000::/3 that are not public, or that contain an IPv4 address, such as 6to4 and Teredo. */
const nonPublic6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

function listOf(networks: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [address, bits] of networks) list.addSubnet(address, bits, family);
  return list;
}

const nonPublicList4 = listOf(nonPublic4, 'ipv4');
const nonPublicList6 = listOf(nonPublic6, 'ipv6');
const globalList6 = listOf([['2000::', 3]], 'ipv6');

/**
 * Returns true if an address belongs to the public internet. The only public IPv6 addresses are global unicast addresses.
 * Mapped IPv4, loopback, unique local and link-local addresses are not public.
 */
export function isPublic(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !nonPublicList4.check(address, 'ipv4');
    case 6:
      return globalList6.check(address, 'ipv6') && !nonPublicList6.check(address, 'ipv6');
    default:
      return false;
  }
}
