import { get } from 'node:http';

/**
 * Requests a URL with `if-none-match`. Returns the ETag, the status and the length of the response. Avoids `fetch`, which would
 * add `cache-control: no-cache`.
 */
export const revalidate = (url: string, etag: string): Promise<readonly unknown[]> =>
  new Promise((resolve, reject) => {
    const request = get(url, { headers: { 'if-none-match': etag } }, response => {
      let length = 0;
      response.on('data', (part: Buffer) => (length += part.length));
      response.once('end', () => resolve([response.headers.etag, response.statusCode, length]));
    });
    request.once('error', reject);
  });
