import { connect, type Socket } from 'node:net';

export interface Response {
  readonly status: number;
  readonly text: string;
}

/**
 * A persistent HTTP connection that makes one call at a time. It parses only the parts of responses that the benchmarks need, so
 * that the client uses little processor time.
 */
export interface HttpConnection {
  /** Sends a POST with a JSON body, or a GET with a null body. Calls wait for the end of earlier calls. */
  call(path: string, body: string | null): Promise<Response>;
  close(): void;
}

export type Headers = Readonly<Record<string, string>>;

const connectTo = (url: URL): Socket =>
  connect({ host: url.hostname, port: Number(url.port), noDelay: true }).setEncoding('utf8');

const headerLines = (url: URL, headers: Headers): string =>
  `Host: ${url.host}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}`;

interface Call {
  readonly request: string;
  readonly resolve: (response: Response) => void;
  readonly reject: (cause: Error) => void;
}

/**
 * Connects at the first call, and again at a call after the server has closed the idle connection. A call rejects when the
 * connection closes before its response. Responses must have a content length.
 */
export function openConnection(address: string, headers: Headers): HttpConnection {
  const url = new URL(address);
  const lines = headerLines(url, headers);
  /** The calls in order; the first one is in progress. */
  const calls: Call[] = [];
  let socket: Socket | null = null;
  let isClosed = false;

  const open = (): Socket => {
    const newSocket = connectTo(url);
    let received = '';
    let hasResponded = false;
    newSocket.on('data', (text: string) => {
      received += text;
      const response = parseResponse(received);
      if (response === null) return;
      received = '';
      hasResponded = true;
      calls.shift()?.resolve(response);
      sendNext();
    });
    newSocket
      .on('error', () => {})
      .on('close', () => {
        socket = null;
        // The server closed the idle connection just when a call started. A retry is safe, because no byte of a response has
        // arrived.
        if (hasResponded && received === '' && !isClosed && calls.length > 0) return sendNext();
        for (const { reject } of calls.splice(0))
          reject(new Error('The connection ended before the response.'));
        return undefined;
      });
    return newSocket;
  };
  const sendNext = (): void => {
    const [next] = calls;
    if (next === undefined) return;
    socket ??= open();
    socket.write(next.request);
  };
  return {
    call: (path, body) =>
      new Promise((resolve, reject) => {
        calls.push({ request: requestOf(path, lines, body), resolve, reject });
        if (calls.length === 1) sendNext();
      }),
    close() {
      isClosed = true;
      socket?.destroy();
    },
  };
}

function requestOf(path: string, lines: string, body: string | null): string {
  if (body === null) return `GET ${path} HTTP/1.1\r\n${lines}\r\n`;
  const length = Buffer.byteLength(body);
  return `POST ${path} HTTP/1.1\r\n${lines}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

/** Returns the response, or null until it is complete. */
function parseResponse(received: string): Response | null {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(received) ?? [];
  const text = received.slice(headEnd + 4);
  // Check the number of characters first, which is faster to compute than the number of bytes. The two numbers differ only for
  // non-ASCII names that users have chosen.
  if (text.length < Number(length) && Buffer.byteLength(text) < Number(length)) return null;
  return { status: statusIn(received), text };
}

/** Returns the status from the first line, such as "HTTP/1.1 200 OK". */
const statusIn = (head: string): number => Number(head.slice(9, 12));

/** An event stream that stays open until either side closes it. */
export interface EventStream {
  close(): void;
  /** Resets the connection, as when a machine loses its network. */
  cut(): void;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
}

/**
 * Opens an event stream. Resolves when the response starts; rejects for a status other than 200. `onData` receives the unparsed
 * JSON of each event. The server sends each event as one line in one HTTP chunk, so chunk headers never split a line.
 */
export async function openEventStream(
  address: string,
  path: string,
  headers: Headers,
  onData: (json: string) => void,
): Promise<EventStream> {
  const url = new URL(address);
  const socket = connectTo(url);
  const ended = new Promise<void>(resolve => socket.once('close', () => resolve()));
  let rest = '';
  socket.write(`GET ${path} HTTP/1.1\r\n${headerLines(url, headers)}\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error(`The stream ${path} was closed.`)));
    socket.once('data', (head: string) => {
      if (head.startsWith('HTTP/1.1 200')) resolve();
      else reject(new Error(`The stream ${path} returned ${statusIn(head)}.`));
    });
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) onData(line.slice(6));
    });
  });
  return { close: () => void socket.destroy(), cut: () => void socket.resetAndDestroy(), ended };
}
