import type { SettingsView } from './settings-api.ts';

/** Whether only this machine reaches this host. A name that merely begins like such an address belongs to somebody else. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || /^\[?::1]?$/.test(host) || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(host);

/** Whether only this machine reaches the server by this address. */
export const isLoopbackUrl = (url: string): boolean => URL.canParse(url) && isLoopback(new URL(url).hostname);

/**
 * A caller on the server's machine, who uses its loopback address, may want an address for another machine. The addresses of the
 * view are in the order in which machines reach them: those of a plain network, of a VPN, and of containers.
 */
export function reachableFor(
  { shared, addresses }: Pick<SettingsView['network'], 'shared' | 'addresses'>,
  called: string,
): string {
  if (!shared || !isLoopbackUrl(called)) return called;
  return addresses.find(({ listening, note }) => listening && note !== 'loopback')?.url ?? called;
}
