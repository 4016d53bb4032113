import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasBody } from './connections.ts';

/** Sends `100 Continue` to a client that waits for it before it sends the body (RFC 9110, section 10.1.1). */
export function proceed(request: IncomingMessage, response: ServerResponse): void {
  if (isAsking(request) && !response.headersSent) response.writeContinue();
}

const isAsking = ({ headers }: IncomingMessage): boolean => /^100-continue$/i.test(headers.expect ?? '');

const maxBytes = 16 * 1_048_576;
const withinMs = 1_000;

/**
 * Call before refusing a request whose body is still arriving. A client that is cut off while it sends may never read the response. The
 * server therefore reads and discards up to a limit, then closes the connection. A client that sent `Expect: 100-continue` has sent no body
 * yet.
 */
export async function discardBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.complete || request.destroyed || !hasBody(request)) return;
  response.shouldKeepAlive = false;
  if (isAsking(request)) return;
  const controller = new AbortController();
  const { signal } = controller;
  let bytes = 0;
  const count = (chunk: Uint8Array): void => {
    bytes += chunk.length;
    if (bytes > maxBytes) controller.abort();
  };
  const timer = setTimeout(() => controller.abort(), withinMs);
  request.on('data', count).resume();
  await Promise.race([once(request, 'end', { signal }), once(request, 'close', { signal })]).catch(
    () => undefined,
  );
  clearTimeout(timer);
  request.removeListener('data', count);
  controller.abort();
}
