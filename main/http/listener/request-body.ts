import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Request, type Response } from 'express';
import { bearerOf } from '../auth/sender.ts';
import { hasBody } from './connections.ts';

/** Sends `100 Continue` if the client waits for it before it sends the body (RFC 9110, section 10.1.1). */
export function proceed(request: IncomingMessage, response: ServerResponse): void {
  if (expectsContinue(request) && !response.headersSent) response.writeContinue();
}

const expectsContinue = ({ headers }: IncomingMessage): boolean =>
  /^100-continue$/i.test(headers.expect ?? '');

/** Limits for a body that is read and discarded. */
const maxBytes = 16 * 1_048_576;
const withinMs = 1_000;

/**
 * Call this before a request is refused while its body is still arriving. A client that is disconnected while it sends may never
 * read the response. So the body is read and discarded, up to a limit, and then the connection is closed. A client with `Expect:
 * 100-continue` has not sent a body yet.
 */
export async function discardBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.complete || request.destroyed || !hasBody(request)) return;
  response.shouldKeepAlive = false;
  if (expectsContinue(request)) return;
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

/**
 * Returns true if the request has a JSON body, or no body. Other types are refused: a page of another site can make a browser
 * send forms and plain text without a CORS preflight, but not JSON or a bearer header. curl's default type, a form, is accepted
 * together with a bearer header, because the commands in SimpleTuner's guide use this type.
 */
export function isJson(request: Request): boolean {
  const { headers } = request;
  const type = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  const isForm = type === 'application/x-www-form-urlencoded';
  return !hasBody(request) || type === 'application/json' || (isForm && bearerOf(request) !== null);
}

/** Parses the body as JSON into `request.body`. Rejects when it is not JSON. */
export const readBody = (request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    readJson(request, response, (cause?: unknown) => {
      if (cause === undefined) resolve();
      else reject(cause instanceof Error ? cause : new Error('the body could not be read', { cause }));
    });
  });

/** Maximum size of a JSON body, in bytes. */
const maxBody = 1_048_576;
const readJson = express.json({
  type: () => true,
  limit: maxBody,
  // A compressed body could expand to any size, so it is refused.
  inflate: false,
  strict: false,
  verify: (_request, _response, bytes) => {
    if (!isUtf8(bytes)) throw new Error('not UTF-8');
    // The parser accepts any depth, but serializing the value again would overflow the stack.
    if (depthOf(bytes) > maxDepth) throw Object.assign(new Error('too deep'), { type: 'entity.too.deep' });
  },
});

/** Maximum nesting depth of a JSON body. */
const maxDepth = 200;
/** `[` and `{` only differ in this bit, and so do `]` and `}`. */
const curly = 0x20;
const marks = { quote: 0x22, escape: 0x5c, open: 0x7b, close: 0x7d };

/** Returns the maximum nesting depth of JSON brackets. */
function depthOf(bytes: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === marks.quote) inString = !inString;
    else if (inString) at += byte === marks.escape ? 1 : 0;
    else if ((byte | curly) === marks.open) {
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if ((byte | curly) === marks.close) depth -= 1;
  }
  return deepest;
}
