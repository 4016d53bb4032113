import type { IncomingMessage } from 'node:http';

/** What a browser states about the origin of a request. Scripts send none of it. */
export interface Provenance {
  /** The `Host` header of the request. */
  readonly host: string | null;
  readonly origin: string | null;
  /** `Sec-Fetch-Site`. */
  readonly site: string | null;
}

/** `own`: a page of this address. `foreign`: a page of another site. `unknown`: an old browser, or no browser. */
type Whence = 'own' | 'foreign' | 'unknown';

/** Browsers send `Origin` with every request that changes state, and `Sec-Fetch-Site` with every request. */
function whence({ host, origin, site }: Provenance): Whence {
  if (site !== null && site !== 'same-origin' && site !== 'none') return 'foreign';
  if (origin === null) return site === null ? 'unknown' : 'own';
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase() ? 'own' : 'foreign';
}

type Heads = Pick<IncomingMessage, 'headers'>;

export function provenanceOf({ headers }: Heads): Provenance {
  // Node joins a repeated header with a comma, and no browser sends such a value.
  const { host = null, origin = null, 'sec-fetch-site': site = null } = headers;
  return { host, origin, site };
}

export const isForeign = (provenance: Provenance): boolean => whence(provenance) === 'foreign';

/**
 * Browsers attach cookies to requests of any page. A request that changes state must therefore prove that it comes from a page of this
 * address.
 */
export function isOwnPage(request: Heads & Pick<IncomingMessage, 'method'>): boolean {
  const from = whence(provenanceOf(request));
  return from === 'own' || (from === 'unknown' && request.method === 'GET');
}
