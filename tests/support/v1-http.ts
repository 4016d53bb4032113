/**
 * HTTP as in the library of SimpleTuner's published agent: a new connection for each call, no redirects, and streams that are
 * split into lines (docs/internals/worker-contract.md, section 3, item 1).
 */
import http from 'node:http';
import https from 'node:https';
import { pipeline } from 'node:stream';
import zlib from 'node:zlib';

/** An answer. `body`: the parsed JSON, or the text if it is not JSON. */
export interface V1Answer {
  readonly status: number;
  readonly body: unknown;
}

export type V1StreamItem =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: unknown };

export interface V1Stream {
  readonly status: number;
  next(): Promise<V1StreamItem>;
}

export interface V1Http {
  get(path: string, timeoutMs: number): Promise<V1Answer>;
  post(path: string, body: unknown, timeoutMs: number, signal?: AbortSignal): Promise<V1Answer>;
  /** Opens a stream. Calls `onLine` when a line arrives, which may be long before `next` returns the line. */
  stream(path: string, signal: AbortSignal, onLine: (text: string) => void): Promise<V1Stream>;
}

/** Thrown when a registration or a stream request returns a status other than 2xx. */
export class V1StatusError extends Error {
  readonly status: number;

  constructor(call: string, status: number) {
    super(`${call} returned ${status}`);
    this.status = status;
  }
}

/** Creates an HTTP client. Aborting `dead` destroys all its sockets, as when the process dies. */
export function createV1Http(url: string, token: string, dead: AbortSignal): V1Http {
  async function send(
    method: string,
    path: string,
    signal: AbortSignal,
    body?: unknown,
  ): Promise<http.IncomingMessage> {
    const target = new URL(url + path);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers: http.OutgoingHttpHeaders = {
      accept: '*/*',
      'accept-encoding': 'gzip, deflate',
      connection: 'keep-alive',
      'user-agent': 'python-httpx/0.28.1',
      'x-worker-token': token,
    };
    if (text !== undefined) {
      headers['content-type'] = 'application/json';
      headers['content-length'] = Buffer.byteLength(text);
    }
    signal.throwIfAborted();
    const { request } = target.protocol === 'https:' ? https : http;
    return new Promise((resolve, reject) => {
      const outgoing = request(target, { method, agent: false, headers }, resolve).on('error', reject);
      // Do not use the option `signal`. It would also destroy a socket that the request has already released. Then no listener
      // would handle the error.
      const cut = (): void => void outgoing.destroy();
      signal.addEventListener('abort', cut);
      outgoing.on('close', () => signal.removeEventListener('abort', cut)).end(text);
    });
  }

  async function call(method: string, path: string, signal: AbortSignal, body?: unknown): Promise<V1Answer> {
    const response = await send(method, path, signal, body);
    const chunks: Buffer[] = [];
    for await (const chunk of decodeBody(response)) chunks.push(chunk);
    return { status: response.statusCode ?? 0, body: parseBody(Buffer.concat(chunks).toString('utf8')) };
  }

  return {
    get: (path, timeoutMs) => call('GET', path, AbortSignal.any([dead, AbortSignal.timeout(timeoutMs)])),
    post(path, body, timeoutMs, signal = dead) {
      return call('POST', path, AbortSignal.any([dead, signal, AbortSignal.timeout(timeoutMs)]), body);
    },
    async stream(path, signal, onLine) {
      const response = await send('GET', path, AbortSignal.any([dead, signal]));
      const inbox = createInbox();
      void readLines(response, text => {
        onLine(text);
        inbox.put({ kind: 'line', text });
      }).then(
        () => inbox.put({ kind: 'end' }),
        (error: unknown) => inbox.put({ kind: 'error', error }),
      );
      return { status: response.statusCode ?? 0, next: inbox.next };
    },
  };
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Decompresses the body, because the requests accept compression like those of the library. */
function decodeBody(response: http.IncomingMessage): AsyncIterable<Buffer> {
  const encoding = response.headers['content-encoding'];
  if (encoding !== 'gzip' && encoding !== 'deflate') return response;
  const plain = zlib.createUnzip({ flush: zlib.constants.Z_SYNC_FLUSH });
  pipeline(response, plain, () => undefined); // the reader of `plain` receives the error
  return plain;
}

function createInbox(): { put(item: V1StreamItem): void; readonly next: () => Promise<V1StreamItem> } {
  const items: V1StreamItem[] = [];
  let taker: ((item: V1StreamItem) => void) | null = null;
  return {
    put(item) {
      if (taker === null) return void items.push(item);
      taker(item);
      taker = null;
    },
    next: () =>
      new Promise(resolve => {
        const item = items.shift();
        if (item === undefined) taker = resolve;
        else resolve(item);
      }),
  };
}

/** Reads the lines of a stream. Includes an incomplete last line only if the stream ends in an orderly way. */
async function readLines(response: http.IncomingMessage, onLine: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const splitter = createLineSplitter();
  for await (const chunk of decodeBody(response)) {
    for (const line of splitter.push(decoder.decode(chunk, { stream: true }))) onLine(line);
  }
  for (const line of splitter.push(decoder.decode())) onLine(line);
  for (const line of splitter.flush()) onLine(line);
}

const LINE_BREAKS: ReadonlySet<string> = new Set('\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029');

export interface LineSplitter {
  /** Returns the lines that this piece of text completes, without their line ends. */
  push(text: string): string[];
  /** At the end of the stream: returns the incomplete last line, if there is one. */
  flush(): string[];
}

/**
 * Splits text into lines like Python's `str.splitlines`, piece by piece (item 1). A `\r` at the end of a piece may belong to a
 * `\r\n`. It therefore completes a line only at the next piece or at the end of the stream.
 */
export function createLineSplitter(): LineSplitter {
  let rest = '';
  let hasOpenReturn = false;
  return {
    push(text) {
      if (text === '') return [];
      let input = hasOpenReturn ? `\r${text}` : text;
      hasOpenReturn = input.endsWith('\r');
      if (hasOpenReturn) input = input.slice(0, -1);
      const lines: string[] = [];
      let start = 0;
      for (let i = 0; i < input.length; i += 1) {
        if (!LINE_BREAKS.has(input.charAt(i))) continue;
        lines.push(rest + input.slice(start, i));
        rest = '';
        if (input.charAt(i) === '\r' && input.charAt(i + 1) === '\n') i += 1;
        start = i + 1;
      }
      rest += input.slice(start);
      return lines;
    },
    flush() {
      const lines = rest === '' && !hasOpenReturn ? [] : [rest];
      rest = '';
      hasOpenReturn = false;
      return lines;
    },
  };
}
