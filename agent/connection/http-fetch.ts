import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { type Answer, type AnswerBody, piecesOf, type Send, type StreamBody } from '../../protocol/client.ts';

export type { Send, StreamBody } from '../../protocol/client.ts';

/** `request` of node:http or node:https, with its agent. */
type Request = (
  url: URL,
  options: RequestOptions,
  onAnswer: (response: IncomingMessage) => void,
) => ClientRequest;

/**
 * A small `fetch` based on `node:http`. Node's own `fetch` would permanently need 18 MB more, a third of the memory that
 * an idle worker uses. This `fetch` follows no redirects, and neither requests nor decodes compression.
 */
export const fetchBy =
  (request: Request): Send =>
  (url, { method = 'GET', headers = {}, body, signal }) =>
    new Promise((resolve, reject) => {
      const options = { method, headers: { ...headers, ...headersOf(body) }, ...(signal && { signal }) };
      const sent = request(url, options, response => resolve(answerOf(url, response)));
      sent.on('error', reject);
      if (typeof body === 'object') pipeBodyAfterContinue(body, sent);
      else sent.end(body);
    });

function headersOf(body: string | StreamBody | undefined): Readonly<Record<string, string>> {
  if (body === undefined) return {};
  // Node sends no length with the body of a DELETE, so the server would read the body as another request.
  if (typeof body === 'string') return { 'content-length': String(Buffer.byteLength(body)) };
  return { 'content-length': String(body.bytes), expect: '100-continue' };
}

/** If the server does not answer `Expect: 100-continue` (RFC 9110, section 10.1.1), the body is sent after this many ms. */
const continueTimeoutMs = 1_000;

/**
 * Sends the body when the server has responded with 100 Continue, or after a timeout. A final response ends the request:
 * the body, or the rest of the body, is not sent.
 */
function pipeBodyAfterContinue(body: StreamBody, sent: ClientRequest): void {
  let isStarted = false;
  const startBody = (): void => {
    clearTimeout(timer);
    if (isStarted) return;
    isStarted = true;
    pipeBody(body, sent).catch((cause: unknown) =>
      sent.destroy(cause instanceof Error ? cause : new Error(String(cause))),
    );
  };
  const timer = setTimeout(startBody, continueTimeoutMs);
  sent.once('continue', startBody);
  sent.once('close', () => clearTimeout(timer));
  sent.once('response', response => {
    clearTimeout(timer);
    isStarted = true;
    // A connection with an unfinished body cannot be reused.
    response.once('end', () => {
      if (!sent.writableEnded) sent.destroy();
    });
  });
  sent.flushHeaders();
}

async function pipeBody(body: StreamBody, sent: ClientRequest): Promise<void> {
  let wake = (): void => {};
  sent.on('drain', () => wake());
  sent.once('close', () => wake());
  for await (const piece of body.pieces()) {
    if (sent.destroyed) return;
    if (sent.write(piece)) continue;
    await new Promise<void>(resolve => {
      wake = resolve;
    });
  }
  sent.end();
}

function answerOf(url: URL, response: IncomingMessage): Answer {
  const status = response.statusCode ?? 0;
  const body = bodyOf(response);
  const text = (): Promise<string> => textOf(body);
  return {
    ok: status >= 200 && status < 300,
    status,
    url: url.href,
    redirected: false,
    headers: {
      get(name) {
        const value = response.headers[name.toLowerCase()];
        return Array.isArray(value) ? value.join(', ') : (value ?? null);
      },
    },
    body,
    text,
    json: async () => JSON.parse(await text()) as unknown,
  };
}

/** When more bytes than this are unread, reading from the network pauses. */
const maxUnread = 1_048_576;

/**
 * Delivers everything that was received before it reports a broken connection. A destroyed stream discards unread data,
 * which may be the offer of a job.
 */
function bodyOf(response: IncomingMessage): AnswerBody {
  const unread: Uint8Array[] = [];
  let bytes = 0;
  let end: { readonly cause: Error | null } | null = null;
  let wake = (): void => {};
  const finish = (cause: Error | null): void => {
    end ??= { cause };
    wake();
  };
  response.on('data', (piece: Uint8Array) => {
    unread.push(piece);
    bytes += piece.length;
    if (bytes > maxUnread) response.pause();
    wake();
  });
  response.once('end', () => finish(null));
  response.on('error', finish);
  response.once('close', () => finish(new Error('aborted')));
  const cancel = async (): Promise<void> => void response.destroy();
  return {
    getReader: () => ({
      async read() {
        for (;;) {
          const value = unread.shift();
          if (value !== undefined) {
            bytes -= value.length;
            response.resume();
            return { done: false, value };
          }
          if (end?.cause) throw end.cause;
          if (end !== null) return { done: true };
          await new Promise<void>(resolve => {
            wake = resolve;
          });
        }
      },
      cancel,
    }),
    cancel,
  };
}

async function textOf(body: AnswerBody): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of piecesOf(body)) pieces.push(piece);
  return new TextDecoder().decode(Buffer.concat(pieces));
}
