import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { type Fetch, piecesOf } from '../../protocol/client.ts';

/** A remote orchestrator and the token that the app uses there. */
export interface RemoteFleet {
  /** URL without a slash at the end. */
  readonly url: string;
  readonly fetch: Fetch;
  readonly token: string;
}

/** Maximum size of a request body. Configs are the largest bodies that the panel sends. */
const maxBytes = 16 * 1_024 * 1_024;

/** Request headers that are forwarded. Cookies and headers about the page's origin are not. */
const requestHeaders = [
  'accept',
  'content-type',
  'last-event-id',
  'idempotency-key',
  'if-match',
  'if-none-match',
];
const responseHeaders = [
  'content-type',
  'content-disposition',
  'cache-control',
  'etag',
  'last-modified',
  'retry-after',
  'x-request-id',
];

/**
 * Forwards a request with the fleet's token and streams the response back. If the orchestrator is unreachable or cannot prove its
 * identity, closes the connection, so the page sees an ordinary network failure.
 */
export async function forward(
  fleet: RemoteFleet,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  const { method = 'GET' } = request;
  try {
    const body = method === 'GET' || method === 'HEAD' ? null : await textOf(request);
    const answer = await fleet.fetch(new URL(fleet.url + (request.url ?? '')), {
      method,
      headers: {
        ...pickHeaders(name => request.headers[name], requestHeaders),
        authorization: `Bearer ${fleet.token}`,
      },
      ...(body === null ? {} : { body }),
      signal: controller.signal,
    });
    response.writeHead(
      answer.status,
      pickHeaders(name => answer.headers.get(name), responseHeaders),
    );
    response.flushHeaders();
    if (answer.body === null) response.end();
    else await pipeline(Readable.from(piecesOf(answer.body)), response);
  } catch {
    response.destroy();
  }
}

function pickHeaders(read: (name: string) => unknown, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap(name => {
      const value = read(name);
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    bytes += part.length;
    parts.push(part);
    if (bytes > maxBytes) request.destroy(new Error('the call is too long'));
  });
  await finished(request);
  return Buffer.concat(parts).toString('utf8');
}
