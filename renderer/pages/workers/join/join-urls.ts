import type { SettingsView } from '../../../../protocol/settings-api.ts';
import { isLoopback } from './join-commands.ts';

/** A URL at which a worker may reach the orchestrator. */
export interface JoinUrl {
  readonly url: string;
  /** `public`: the configured URL. `page`: the URL of this page. `interface`: an address of the server. */
  readonly kind: 'public' | 'page' | 'interface';
  /** Network interface of the server, if known. */
  readonly interface: string | null;
  /** Restricts who can reach the URL; null when others can, or when unknown. */
  readonly note: 'loopback' | 'virtual' | 'vpn' | null;
}

/**
 * Returns the URLs, best first: the configured one, then this page's if opened from another machine, then the server's addresses. Loopback
 * comes last.
 */
export function joinUrls(
  settings: Pick<SettingsView, 'network' | 'public_url'> | null,
  pageUrl: string,
): readonly [JoinUrl, ...JoinUrl[]] {
  const open = settings?.network.addresses.filter(({ listening }) => listening) ?? [];
  const known = open.find(({ url }) => url === pageUrl);
  const isHere = isLoopback(new URL(pageUrl).hostname);
  const page: JoinUrl = {
    url: pageUrl,
    kind: 'page',
    interface: known?.interface ?? null,
    note: isHere ? 'loopback' : (known?.note ?? null),
  };
  const others = open
    .filter(({ url, note }) => url !== pageUrl && note !== 'loopback')
    .map(({ url, interface: name, note }): JoinUrl => ({ url, kind: 'interface', interface: name, note }));
  const set = settings?.public_url ?? null;
  const chosen: readonly JoinUrl[] =
    set === null ? [] : [{ url: set, kind: 'public', interface: null, note: noteOf(set) }];
  const [first = page, ...rest] = [
    ...chosen,
    ...(isHere ? [...others, page] : [page, ...others]).filter(({ url }) => url !== set),
  ];
  return [first, ...rest];
}

const noteOf = (url: string): JoinUrl['note'] => (isLoopback(new URL(url).hostname) ? 'loopback' : null);
