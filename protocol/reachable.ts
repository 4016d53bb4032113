import type { SettingsView } from './settings-api.ts';

/** Whether only this machine can reach the host. Returns false for a name that only starts like a loopback address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || /^\[?::1]?$/.test(host) || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(host);

/** Whether only this machine can reach the server at this URL. */
export const isLoopbackUrl = (url: string): boolean => URL.canParse(url) && isLoopback(new URL(url).hostname);

/**
 * Returns the URL with which other machines reach a shared server. If the client called a loopback address, this is the first
 * other URL in `addresses` on which the server listens; otherwise, it is the URL that the client called. `addresses` lists
 * plain networks first, then VPNs, then containers.
 */
export function reachableFor(
  { shared, addresses }: Pick<SettingsView['network'], 'shared' | 'addresses'>,
  called: string,
): string {
  if (!shared || !isLoopbackUrl(called)) return called;
  return addresses.find(({ listening, note }) => listening && note !== 'loopback')?.url ?? called;
}
