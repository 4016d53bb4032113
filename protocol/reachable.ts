import type { SettingsView } from './settings-api.ts';

/**
 * Whether only this machine reaches the host. A host name that merely starts like a loopback address does not count.
 */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || /^\[?::1]?$/.test(host) || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(host);

/** Whether only this machine reaches the server at this URL. */
export const isLoopbackUrl = (url: string): boolean => URL.canParse(url) && isLoopback(new URL(url).hostname);

/**
 * Returns a URL for another machine if the client used the server's loopback address. The first address is the most widely
 * reachable one, because the addresses of the view are sorted: plain networks, VPNs, then containers.
 */
export function reachableFor(
  { shared, addresses }: Pick<SettingsView['network'], 'shared' | 'addresses'>,
  called: string,
): string {
  if (!shared || !isLoopbackUrl(called)) return called;
  return addresses.find(({ listening, note }) => listening && note !== 'loopback')?.url ?? called;
}
