import type { IncomingMessage } from 'node:http';

/** Headers per request. A browser behind two proxies sends about 40. The server ignores further ones. */
export const maxHeaderCount = 100;

/**
 * Returns every value of a header in the order sent; `name` is in lower case. `headers` keeps only the first value of single-value headers
 * (RFC 9110). `headersDistinct` would build a list per header and keep it as long as the request.
 */
export function sentAs({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, name: string): readonly string[] {
  const values: string[] = [];
  const end = Math.min(rawHeaders.length, 2 * maxHeaderCount);
  for (let at = 0; at + 1 < end; at += 2) {
    const sent = rawHeaders[at] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  }
  return values;
}
