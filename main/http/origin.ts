import type { IncomingMessage } from 'node:http';

/** What a browser says of where a call comes from; scripts say nothing. */
export interface Provenance {
  /** The `Host` that the call was made under. */
  readonly host: string | null;
  readonly origin: string | null;
  /** `Sec-Fetch-Site`. */
  readonly site: string | null;
}

/**
 * `own`: a page of this very address. `foreign`: a page elsewhere. `unknown`: nothing was said, by an old browser, or by
 * none.
 */
type Whence = 'own' | 'foreign' | 'unknown';

/** Browsers send `Origin` with whatever changes something, and `Sec-Fetch-Site` with every call. */
function whence({ host, origin, site }: Provenance): Whence {
  if (site !== null && site !== 'same-origin' && site !== 'none') return 'foreign';
  if (origin === null) return site === null ? 'unknown' : 'own';
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase() ? 'own' : 'foreign';
}

type Heads = Pick<IncomingMessage, 'headers'>;

export function provenanceOf({ headers }: Heads): Provenance {
  // A site that was sent twice is one value with a comma here, and none that a browser sends.
  const { host = null, origin = null, 'sec-fetch-site': site = null } = headers;
  return { host, origin, site };
}

export const isForeign = (provenance: Provenance): boolean => whence(provenance) === 'foreign';

/**
 * A cookie is sent with whatever a page asks for, whoever wrote the page: what changes something has to come from a page
 * of this very address, and has to say so.
 */
export function isOwnPage(request: Heads & Pick<IncomingMessage, 'method'>): boolean {
  const from = whence(provenanceOf(request));
  return from === 'own' || (from === 'unknown' && request.method === 'GET');
}
