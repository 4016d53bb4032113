import type { SettingsView } from '../../../protocol/settings-api.ts';
import { isLoopback } from './join-commands.ts';

/** An address under which a worker may call the orchestrator. */
export interface JoinUrl {
  readonly url: string;
  /** `public`: as it was set; `page`: as this page was opened; else one of the server's own. */
  readonly kind: 'public' | 'page' | 'interface';
  /** Of the server, where that is known. */
  readonly interface: string | null;
  /** Who alone reaches it; null when others do, or nobody knows. */
  readonly note: 'loopback' | 'virtual' | 'vpn' | null;
}

/**
 * The best one first: what somebody has set, then what has brought this page to another machine, then what the server
 * listens on. Its loopback address comes last.
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
