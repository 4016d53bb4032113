import http from 'node:http';
import type { Socket } from 'node:net';
import type { Lane } from './chaos-proxy-lane.ts';
import type { Fate, ProxiedCall } from './chaos-proxy-rules.ts';

/** What came down a stream, as the orchestrator sent it. */
export interface Frame {
  readonly at: number;
  /** The JSON of its `data:` line. */
  readonly data: unknown;
  /** Written to the client's socket. */
  delivered: boolean;
}

/** One request and what became of it. Times are of `performance.now()`. */
export interface Exchange extends ProxiedCall {
  readonly at: number;
  readonly fate: Fate;
  /** What the orchestrator answered, whether or not that reached the client; null so far. */
  answer: { readonly status: number; readonly body: unknown } | null;
  /** The client has the whole answer; of a stream, its head. */
  delivered: boolean;
  /** Of a stream: it is open towards the orchestrator. */
  open: boolean;
  /** The client's socket is gone. */
  left: boolean;
  readonly frames: Frame[];
}

/** What an exchange is carried over. */
export interface Ends {
  readonly target: () => URL;
  readonly client: http.ServerResponse;
  readonly up: Lane;
  readonly down: Lane;
  readonly changed: () => void;
  /** Looks at every piece of a stream before it is passed on: how much of it the client is given before a reset. */
  readonly cutAt: (text: string) => number | null;
}

export interface Forwarded {
  /** Both sides at once, by RST. */
  reset(): void;
  /** The orchestrator's side alone. */
  hangUp(): void;
}

export function resetMessage(message: http.ServerResponse | http.ClientRequest): void {
  if (message.socket !== null) resetSocket(message.socket);
  message.destroy();
}

/** By RST where the system allows it: not while the socket is being shut, or it would stay open for ever. */
export function resetSocket(socket: Socket): void {
  if (!socket.destroyed && !socket.connecting && !socket.writableEnded) socket.resetAndDestroy();
  socket.destroy();
}

/** Sends the call on and brings its answer back, as far as fate and lanes let it. */
export function forward(exchange: Exchange, ends: Ends): Forwarded {
  const { client, up, down, changed } = ends;
  let upstream: http.ClientRequest | null = null;
  const closed = (): void => {
    exchange.open = false;
    changed();
  };
  const reset = (): void => {
    if (upstream !== null) resetMessage(upstream);
    resetMessage(client);
    closed();
  };
  const hangUp = (): void => {
    upstream?.destroy();
    closed();
  };
  const send = (): void => {
    upstream = request(exchange, ends.target());
    upstream.on('error', () => down.carry(() => resetMessage(client)));
    upstream.on('response', answer => {
      const isStream = String(answer.headers['content-type']).startsWith('text/event-stream');
      if (isStream) relayStream(exchange, ends, answer, reset);
      else void relayAnswer(exchange, ends, answer);
      answer.on('close', () => {
        closed();
        if (!answer.complete) down.carry(() => resetMessage(client));
      });
    });
    upstream.end(exchange.text);
  };
  client.on('close', () => {
    exchange.left = true;
    changed();
    if (!client.writableFinished) up.carry(hangUp);
  });
  up.carry(send);
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

const headOf = ({ headers }: http.IncomingMessage): http.OutgoingHttpHeaders => {
  const { connection: _connection, 'transfer-encoding': _encoding, 'keep-alive': _keep, ...rest } = headers;
  return rest;
};

async function relayAnswer(exchange: Exchange, ends: Ends, answer: http.IncomingMessage): Promise<void> {
  const { client, down, changed } = ends;
  const text = await textOf(answer).catch(() => null);
  if (text === null) return;
  exchange.answer = { status: answer.statusCode ?? 0, body: parseJson(text) };
  changed();
  if (exchange.fate === 'lose_answer') return;
  down.carry(() => {
    if (exchange.fate === 'reset_answer') {
      resetMessage(client);
      return;
    }
    // Of a call that was sent twice, the first answer has been taken.
    if (client.headersSent || client.destroyed) return;
    client.writeHead(answer.statusCode ?? 502, headOf(answer)).end(text);
    exchange.delivered = true;
    changed();
  });
}

function relayStream(exchange: Exchange, ends: Ends, answer: http.IncomingMessage, reset: () => void): void {
  const { client, down, changed } = ends;
  exchange.answer = { status: answer.statusCode ?? 0, body: null };
  exchange.open = true;
  changed();
  down.carry(() => {
    if (client.destroyed) return;
    client.writeHead(answer.statusCode ?? 502, headOf(answer));
    client.flushHeaders();
    exchange.delivered = true;
    changed();
  });
  const read = createFrameReader();
  answer.setEncoding('utf8');
  answer.on('data', (text: string) => {
    const frames = read(text);
    exchange.frames.push(...frames);
    changed();
    const cut = ends.cutAt(text);
    down.carry(() => {
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
  answer.on('end', () => down.carry(() => client.end()));
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

/** Null for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
