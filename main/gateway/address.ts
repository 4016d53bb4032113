import { openNetwork, parseTrust } from '../../agent/connection/network.ts';
import type { Fetch } from '../../protocol/client.ts';

export interface FleetAddress {
  /** Without a trailing slash. */
  readonly url: string;
  /** Connection that verifies the server's identity. */
  readonly fetch: Fetch;
}

type Parsed =
  | { readonly ok: true; readonly value: FleetAddress }
  | { readonly ok: false; readonly detail: string };

/** Parses the address of a remote orchestrator. The pin follows the same rules as a worker's. */
export function parseFleetAddress(given: { readonly url: string; readonly pin: string | null }): Parsed {
  const url = URL.canParse(given.url) ? new URL(given.url) : null;
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url === null || !isPlain || !/^https?:$/.test(url.protocol))
    return {
      ok: false,
      detail: `"${given.url.slice(0, 100)}" is no address of an orchestrator: give one like https://HOST:8001`,
    };
  const address = url.origin + url.pathname.replace(/\/+$/, '');
  const trust = parseTrust(address, { pin: given.pin ?? undefined, caFile: null, verify: true });
  if (!trust.ok) return { ok: false, detail: trust.message };
  return { ok: true, value: { url: address, fetch: openNetwork(trust.value) } };
}
