import { get } from 'node:http';

/**
 * Requests a URL with `if-none-match`. Returns the ETag, the status and the length of the answer. Not with `fetch`, which adds
 * `cache-control: no-cache` to such a request.
 */
export const revalidate = (url: string, etag: string): Promise<readonly unknown[]> =>
  new Promise((resolve, reject) => {
    const sent = get(url, { headers: { 'if-none-match': etag } }, response => {
      let length = 0;
      response.on('data', (part: Buffer) => (length += part.length));
      response.once('end', () => resolve([response.headers.etag, response.statusCode, length]));
    });
    sent.once('error', reject);
  });
