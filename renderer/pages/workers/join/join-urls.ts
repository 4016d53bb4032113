import type { SettingsView } from '../../../../protocol/settings-api.ts';
import { isLoopback } from './join-commands.ts';

/** A URL at which a worker may reach the orchestrator. */
export interface JoinUrl {
  readonly url: string;
  /**
   * `public`: the configured public URL. `page`: the URL of this page. `interface`: an address of the server's machine.
   */
  readonly kind: 'public' | 'page' | 'interface';
  /** Name of the server's network interface; null when unknown. */
  readonly interface: string | null;
  /**
   * The reason why only some machines can reach the URL: only this machine, a virtual network or a VPN. Null for all other
   * URLs.
   */
  readonly note: 'loopback' | 'virtual' | 'vpn' | null;
}

/**
 * Returns the possible URLs, best first: the configured public URL, the URL of this page, and the server's other
 * addresses except loopback addresses. If the URL of this page is a loopback URL, it comes last.
 */
export function joinUrls(
  settings: Pick<SettingsView, 'network' | 'public_url'> | null,
  pageUrl: string,
): readonly [JoinUrl, ...JoinUrl[]] {
  const open = settings?.network.addresses.filter(({ listening }) => listening) ?? [];
  const listed = open.find(({ url }) => url === pageUrl);
  const isHere = isLoopback(new URL(pageUrl).hostname);
  const page: JoinUrl = {
    url: pageUrl,
    kind: 'page',
    interface: listed?.interface ?? null,
    note: isHere ? 'loopback' : (listed?.note ?? null),
  };
  const others = open
    .filter(({ url, note }) => url !== pageUrl && note !== 'loopback')
    .map(({ url, interface: name, note }): JoinUrl => ({ url, kind: 'interface', interface: name, note }));
  const publicUrl = settings?.public_url ?? null;
  const configured: readonly JoinUrl[] =
    publicUrl === null ? [] : [{ url: publicUrl, kind: 'public', interface: null, note: noteOf(publicUrl) }];
  const inOrder = (isHere ? [...others, page] : [page, ...others]).filter(({ url }) => url !== publicUrl);
  // The list always contains the page's URL, so the default only satisfies the type.
  const [first = page, ...rest] = [...configured, ...inOrder];
  return [first, ...rest];
}

const noteOf = (url: string): JoinUrl['note'] => (isLoopback(new URL(url).hostname) ? 'loopback' : null);
