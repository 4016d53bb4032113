import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** One connection that is kept, with one call at a time: what a client takes of the machine is as little as can be. */
export interface Lane {
  /** Posts the body, which is JSON; without one it asks only. */
  call(path: string, body: string | null): Promise<Answer>;
  close(): void;
}

export type Headers = Readonly<Record<string, string>>;

const connectTo = (url: URL): Socket =>
  connect({ host: url.hostname, port: Number(url.port), noDelay: true }).setEncoding('utf8');

const headLines = (url: URL, headers: Headers): string =>
  `Host: ${url.host}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}`;

interface Call {
  readonly request: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (cause: Error) => void;
}

/**
 * Connects when there is something to say and no connection: a server closes those that rest. Rejects when it is closed
 * before the answer; answers without a length are not understood.
 */
export function openLane(address: string, headers: Headers): Lane {
  const url = new URL(address);
  const lines = headLines(url, headers);
  /** The first of them is on its way. */
  const calls: Call[] = [];
  let socket: Socket | null = null;
  let isClosed = false;

  const open = (): Socket => {
    const opened = connectTo(url);
    let seen = '';
    let hasAnswered = false;
    opened.on('data', (text: string) => {
      seen += text;
      const answer = answerIn(seen);
      if (answer === null) return;
      seen = '';
      hasAnswered = true;
      calls.shift()?.resolve(answer);
      sayNext();
    });
    opened
      .on('error', () => {})
      .on('close', () => {
        socket = null;
        // It rested, and was closed just when it was needed again: nothing has been lost if not a byte has come.
        if (hasAnswered && seen === '' && !isClosed && calls.length > 0) return sayNext();
        for (const { reject } of calls.splice(0)) reject(new Error('the connection ended before the answer'));
        return undefined;
      });
    return opened;
  };
  const sayNext = (): void => {
    const [next] = calls;
    if (next === undefined) return;
    socket ??= open();
    socket.write(next.request);
  };
  return {
    call: (path, body) =>
      new Promise((resolve, reject) => {
        calls.push({ request: requestOf(path, lines, body), resolve, reject });
        if (calls.length === 1) sayNext();
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

/** Null before it is whole. */
function answerIn(seen: string): Answer | null {
  const headEnd = seen.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(seen) ?? [];
  const text = seen.slice(headEnd + 4);
  // Every answer is ASCII but for what people have named.
  if (text.length < Number(length) && Buffer.byteLength(text) < Number(length)) return null;
  return { status: Number(seen.slice(9, 12)), text };
}

/** A stream of events that is followed until it is closed. */
export interface Followed {
  close(): void;
  /** By a reset, as when a machine has lost its network and is asked for the connection later. */
  cut(): void;
  /** Resolves when it has ended, whoever has ended it. */
  readonly ended: Promise<void>;
}

/**
 * Resolves with its first byte; `onData` gets each event's JSON, as it came. An event is one line, and comes in one chunk, so
 * that the marks of the chunks never stand within one.
 */
export async function follow(
  address: string,
  path: string,
  headers: Headers,
  onData: (json: string) => void,
): Promise<Followed> {
  const url = new URL(address);
  const socket = connectTo(url);
  const ended = new Promise<void>(resolve => socket.once('close', () => resolve()));
  let rest = '';
  socket.write(`GET ${path} HTTP/1.1\r\n${headLines(url, headers)}\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error(`the stream ${path} was closed`)));
    socket.once('data', (head: string) => {
      if (head.startsWith('HTTP/1.1 200')) resolve();
      else reject(new Error(`the stream ${path} was answered ${head.slice(9, 12)}`));
    });
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) onData(line.slice(6));
    });
  });
  return { close: () => void socket.destroy(), cut: () => void socket.resetAndDestroy(), ended };
}
