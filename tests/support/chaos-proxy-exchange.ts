import http from 'node:http';
import type { Socket } from 'node:net';
import type { Lane } from './chaos-proxy-lane.ts';
import type { Action, ProxiedCall } from './chaos-proxy-rules.ts';

/** A frame of a stream, as the orchestrator sent it. */
export interface Frame {
  readonly at: number;
  /** The JSON of its `data:` line. */
  readonly data: unknown;
  /** True when the frame was written to the client's socket. */
  delivered: boolean;
}

/** One request and its outcome. Times are those of `performance.now()`. */
export interface HttpExchange extends ProxiedCall {
  readonly at: number;
  readonly action: Action;
  /** The orchestrator's answer, even if it did not reach the client; null until the orchestrator answers. */
  answer: { readonly status: number; readonly body: unknown } | null;
  /** True when the client received the whole answer or, for a stream, its headers. */
  delivered: boolean;
  /** True while a stream's connection to the orchestrator is open. */
  open: boolean;
  /** True when the client's socket has closed. */
  left: boolean;
  readonly frames: Frame[];
}

/** Both sides of an exchange. */
export interface Ends {
  readonly target: () => URL;
  readonly client: http.ServerResponse;
  readonly up: Lane;
  readonly down: Lane;
  readonly changed: () => void;
  /**
   * Called with each piece of a stream before the proxy forwards it. Returns the number of characters that the client receives
   * before a reset; null for no reset.
   */
  readonly cutAt: (text: string) => number | null;
}

export interface Forwarded {
  /** Resets both sides immediately with RST. */
  reset(): void;
  /** Closes only the orchestrator's side. */
  hangUp(): void;
}

export function resetMessage(message: http.ServerResponse | http.ClientRequest): void {
  if (message.socket !== null) resetSocket(message.socket);
  message.destroy();
}

/** Resets a socket with RST. A socket that is already shutting down gets no RST, because it would then never close. */
export function resetSocket(socket: Socket): void {
  if (!socket.destroyed && !socket.connecting && !socket.writableEnded) socket.resetAndDestroy();
  socket.destroy();
}

/** Forwards the call, and relays the answer to the client, as far as the rules and the lanes (chaos-proxy-lane.ts) permit. */
export function forward(exchange: HttpExchange, ends: Ends): Forwarded {
  const { client, up, down, changed } = ends;
  let upstream: http.ClientRequest | null = null;
  const markClosed = (): void => {
    exchange.open = false;
    changed();
  };
  const reset = (): void => {
    if (upstream !== null) resetMessage(upstream);
    resetMessage(client);
    markClosed();
  };
  const hangUp = (): void => {
    upstream?.destroy();
    markClosed();
  };
  const send = (): void => {
    upstream = request(exchange, ends.target());
    upstream.on('error', () => down.transmit(() => resetMessage(client)));
    upstream.on('response', response => {
      const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
      if (isStream) relayStream(exchange, ends, response, reset);
      else void relayAnswer(exchange, ends, response);
      response.on('close', () => {
        markClosed();
        if (!response.complete) down.transmit(() => resetMessage(client));
      });
    });
    upstream.end(exchange.text);
  };
  client.on('close', () => {
    exchange.left = true;
    changed();
    if (!client.writableFinished) up.transmit(hangUp);
  });
  up.transmit(send);
  return { reset, hangUp };
}

function request(call: ProxiedCall, target: URL): http.ClientRequest {
  const { host: _host, connection: _connection, 'content-length': _length, ...headers } = call.headers;
  const length = call.text === '' ? {} : { 'content-length': Buffer.byteLength(call.text) };
  return http.request(new URL(call.path, target), {
    method: call.method,
    agent: false,
    headers: { ...headers, ...length },
  });
}

/** Returns the headers of the response without the headers that concern only the connection to the orchestrator. */
const headersToForward = ({ headers }: http.IncomingMessage): http.OutgoingHttpHeaders => {
  const { connection: _connection, 'transfer-encoding': _encoding, 'keep-alive': _keep, ...rest } = headers;
  return rest;
};

async function relayAnswer(
  exchange: HttpExchange,
  ends: Ends,
  response: http.IncomingMessage,
): Promise<void> {
  const { client, down, changed } = ends;
  const text = await textOf(response).catch(() => null);
  if (text === null) return;
  exchange.answer = { status: response.statusCode ?? 0, body: parseJson(text) };
  changed();
  if (exchange.action === 'lose_answer') return;
  down.transmit(() => {
    if (exchange.action === 'reset_answer') {
      resetMessage(client);
      return;
    }
    // A duplicated call has two answers. The client gets only the first.
    if (client.headersSent || client.destroyed) return;
    client.writeHead(response.statusCode ?? 502, headersToForward(response)).end(text);
    exchange.delivered = true;
    changed();
  });
}

function relayStream(
  exchange: HttpExchange,
  ends: Ends,
  response: http.IncomingMessage,
  reset: () => void,
): void {
  const { client, down, changed } = ends;
  exchange.answer = { status: response.statusCode ?? 0, body: null };
  exchange.open = true;
  changed();
  down.transmit(() => {
    if (client.destroyed) return;
    client.writeHead(response.statusCode ?? 502, headersToForward(response));
    client.flushHeaders();
    exchange.delivered = true;
    changed();
  });
  const read = createFrameReader();
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    const frames = read(text);
    exchange.frames.push(...frames);
    changed();
    const cut = ends.cutAt(text);
    down.transmit(() => {
      if (client.destroyed) return;
      if (cut !== null) {
        client.write(text.slice(0, cut), reset);
        return;
      }
      client.write(text);
      for (const frame of frames) frame.delivered = true;
      changed();
    });
  });
  response.on('end', () => down.transmit(() => client.end()));
}

function createFrameReader(): (text: string) => Frame[] {
  let rest = '';
  return text => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    return lines
      .filter(line => line.startsWith('data: '))
      .map(line => ({
        at: performance.now(),
        data: parseJson(line.slice('data: '.length)),
        delivered: false,
      }));
  };
}

export async function textOf(message: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns null for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
