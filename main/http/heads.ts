import type { IncomingMessage } from 'node:http';

/** Of one call; a browser behind two proxies sends about 40. What comes behind them is not looked at. */
export const mostHeaders = 100;

/**
 * Every value that a header was sent with, in their order; `name` is in lower case. `headers` has the first one alone of those that
 * may be there once (RFC 9110), and `headersDistinct` makes a list of each header and keeps it for as long as there is the request.
 */
export function sentAs({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): readonly string[] {
  const values: string[] = [];
  const end = Math.min(rawHeaders.length, 2 * mostHeaders);
  for (let at = 0; at + 1 < end; at += 2) {
    const sent = rawHeaders[at] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
}
