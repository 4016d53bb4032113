import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { type Fetch, piecesOf } from '../../protocol/client.ts';

/** An orchestrator elsewhere, and who the app is there. */
export interface FarFleet {
  /** Without a slash at its end. */
  readonly url: string;
  readonly fetch: Fetch;
  readonly token: string;
}

/** No call of the panel is larger: configs are the longest. */
const mostBytes = 16 * 1_024 * 1_024;

/** What the orchestrator needs to know of a call; where the page is, and what it keeps, is nothing for it. */
const sentOn = ['accept', 'content-type', 'last-event-id', 'idempotency-key', 'if-match', 'if-none-match'];
const handedBack = [
  'content-type',
  'content-disposition',
  'cache-control',
  'etag',
  'last-modified',
  'retry-after',
  'x-request-id',
];

/**
 * Hands a call on under the fleet's own token, and its answer back as it comes, a stream too. When the orchestrator is not
 * reached, or is not the one that was meant, the connection breaks off: to the page that is what it would be without this.
 */
export async function forward(
  fleet: FarFleet,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const over = new AbortController();
  response.once('close', () => over.abort());
  const { method = 'GET' } = request;
  try {
    const body = method === 'GET' || method === 'HEAD' ? null : await textOf(request);
    const answer = await fleet.fetch(new URL(fleet.url + (request.url ?? '')), {
      method,
      headers: { ...taken(name => request.headers[name], sentOn), authorization: `Bearer ${fleet.token}` },
      ...(body === null ? {} : { body }),
      signal: over.signal,
    });
    response.writeHead(
      answer.status,
      taken(name => answer.headers.get(name), handedBack),
    );
    response.flushHeaders();
    if (answer.body === null) response.end();
    else await pipeline(Readable.from(piecesOf(answer.body)), response);
  } catch {
    response.destroy();
  }
}

function taken(read: (name: string) => unknown, names: readonly string[]): Record<string, string> {
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
    if (bytes > mostBytes) request.destroy(new Error('the call is too long'));
  });
  await finished(request);
  return Buffer.concat(parts).toString('utf8');
}
