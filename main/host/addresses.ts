import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopback } from '../../protocol/reachable.ts';

/** One of this machine's own. */
export interface MachineAddress {
  readonly address: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly interface: string;
}

/** Without those of IPv6 that mean something on one cable only, and can stand in no URL of a browser. */
export function ownAddresses(): readonly MachineAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, list = []]) =>
    list
      .filter(({ address }) => !/^fe[89ab]/i.test(address))
      .map(({ address, family }) => ({ address, family, interface: name })),
  );
}

export { isLoopback };

export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** What stands for `host` in an address that a client can use. */
export const urlOf = (host: string, port: number, isSecure: boolean): string =>
  `${isSecure ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Those of `addresses` that a socket which listens on `host` answers at, and that others may reach. */
export function addressesBehind(
  host: string,
  addresses: readonly MachineAddress[],
): readonly MachineAddress[] {
  const others = addresses.filter(({ address }) => !isLoopback(address));
  if (host === '::') return others;
  if (host === '0.0.0.0') return others.filter(({ family }) => family === 'IPv4');
  return others.filter(({ address }) => address === host);
}

/** Who reaches an address; null for the machines of an ordinary network. */
export type Reach = 'loopback' | 'virtual' | 'vpn' | null;

const virtual = /^(?:docker|br-|veth|virbr|vmnet|vboxnet|vEthernet|lxc|lxd|cni|podman|bridge\d)/i;
const vpn = /^(?:tun|tap|wg|tailscale|zt|utun|ppp|nebula)/i;

/** Goes by the names that programs give to the interfaces which they make. */
export function reachOf({ address, interface: name }: MachineAddress): Reach {
  if (isLoopback(address)) return 'loopback';
  if (virtual.test(name)) return 'virtual';
  return vpn.test(name) ? 'vpn' : null;
}

const order: readonly Reach[] = [null, 'vpn', 'virtual', 'loopback'];

/** Those first that most machines reach; of two such, those of IPv4, which are shorter to type. */
export const byReach = (a: MachineAddress, b: MachineAddress): number =>
  order.indexOf(reachOf(a)) - order.indexOf(reachOf(b)) || a.family.localeCompare(b.family);
