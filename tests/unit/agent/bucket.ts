import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { OutstandingReport } from '../../../agent/artifacts/storage.ts';

/** A fake storage for the outputs of one attempt, over HTTP. */
export interface Bucket {
  readonly url: string;
  /** The stored contents by key. */
  readonly files: Map<string, string>;
  /** All received upload tokens. */
  readonly tokens: Set<unknown>;
  /** The last report about outstanding uploads; null before the first report. */
  outstanding: OutstandingReport | null;
  /** While true, each connection is closed without an answer. */
  isUnreachable: boolean;
}

const etagOf = (content: string): string => `"${createHash('sha256').update(content).digest('hex')}"`;

/** Starts a storage whose outputs are below `/store/outputs`. The storage closes after the test. */
export async function openBucket(): Promise<Bucket> {
  const bucket: Bucket = {
    url: '',
    files: new Map(),
    tokens: new Set(),
    isUnreachable: false,
    outstanding: null,
  };
  const server = createServer((request, response) => {
    if (bucket.isUnreachable) return void request.socket.destroy();
    bucket.tokens.add(request.headers['x-upload-token']);
    const { pathname } = new URL(request.url ?? '', 'http://bucket');
    // The body cannot be read after the client has aborted, and then no answer is needed.
    const readBody = (onContent: (content: string) => void): void =>
      void text(request).then(onContent, () => undefined);
    const key = decodeURIComponent(pathname.replace(/^\/store\/outputs\/?/, ''));
    if (pathname === '/api/cloud/outstanding')
      return readBody(content => {
        bucket.outstanding = JSON.parse(content) as Bucket['outstanding'];
        response.writeHead(200).end('{"success":true}');
      });
    if (request.method === 'PUT')
      return readBody(content => {
        bucket.files.set(key, content);
        response.writeHead(200, { etag: etagOf(content) }).end('{}');
      });
    const contents = [...bucket.files].map(([Key, content]) => ({
      Key,
      Size: content.length,
      LastModified: 0,
      ETag: etagOf(content),
    }));
    return void response.end(
      JSON.stringify({ Name: 'outputs', Contents: contents, IsTruncated: false, NextCursor: null }),
    );
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(bucket, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
