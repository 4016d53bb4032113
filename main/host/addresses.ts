import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopback } from '../../protocol/reachable.ts';

/** An address of this machine. */
export interface MachineAddress {
  readonly address: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly interface: string;
}

/**
 * Returns the addresses of this machine, without link-local IPv6 addresses: they are only valid on one link, and browsers reject
 * them in URLs.
 */
export function ownAddresses(): readonly MachineAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, list = []]) =>
    list
      .filter(({ address }) => !/^fe[89ab]/i.test(address))
      .map(({ address, family }) => ({ address, family, interface: name })),
  );
}

export { isLoopback };

export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Returns the base URL for a host and port. IPv6 addresses get brackets. */
export const urlOf = (host: string, port: number, isSecure: boolean): string =>
  `${isSecure ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Returns the `addresses` that other machines can use to reach a socket that listens on `host`. */
export function addressesBehind(
  host: string,
  addresses: readonly MachineAddress[],
): readonly MachineAddress[] {
  const others = addresses.filter(({ address }) => !isLoopback(address));
  if (host === '::') return others;
  if (host === '0.0.0.0') return others.filter(({ family }) => family === 'IPv4');
  return others.filter(({ address }) => address === host);
}

/** The kind of network that an address belongs to; null for an ordinary network. */
export type AddressKind = 'loopback' | 'virtual' | 'vpn' | null;

const virtual = /^(?:docker|br-|veth|virbr|vmnet|vboxnet|vEthernet|lxc|lxd|cni|podman|bridge\d)/i;
const vpn = /^(?:tun|tap|wg|tailscale|zt|utun|ppp|nebula)/i;

/** Returns the kind of an address. Recognises virtual and VPN interfaces by their usual names. */
export function reachOf({ address, interface: name }: MachineAddress): AddressKind {
  if (isLoopback(address)) return 'loopback';
  if (virtual.test(name)) return 'virtual';
  return vpn.test(name) ? 'vpn' : null;
}

const order: readonly AddressKind[] = [null, 'vpn', 'virtual', 'loopback'];

/**
 * Compares addresses for sorting. Addresses that most machines can reach come first. Among equals, IPv4 comes before IPv6,
 * because it is shorter to type.
 */
export const byReach = (a: MachineAddress, b: MachineAddress): number =>
  order.indexOf(reachOf(a)) - order.indexOf(reachOf(b)) || a.family.localeCompare(b.family);
