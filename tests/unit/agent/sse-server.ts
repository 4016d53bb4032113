import http from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The server's end of an open stream. */
interface OpenStream {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly socket: Socket;
  /** Resolves when the client has disconnected. */
  readonly closed: Promise<void>;
  /** Sends each piece in a separate write. */
  write(...pieces: readonly (string | Uint8Array)[]): Promise<void>;
  end(): void;
  destroy(): void;
}

export interface SseServer {
  readonly url: string;
  /** The number of calls so far, including refused calls. */
  readonly calls: () => number;
  /** Resolves with the next stream that a client opens. */
  readonly opened: () => Promise<OpenStream>;
}

/** Starts a server that answers calls with a stream, except calls for which `refuse` sends another answer and returns true. */
export async function startSseServer(
  refuse: (request: http.IncomingMessage, response: http.ServerResponse) => boolean = () => false,
): Promise<SseServer> {
  const streams: OpenStream[] = [];
  const waiters: ((stream: OpenStream) => void)[] = [];
  let calls = 0;
  const server = http.createServer((request, response) => {
    calls += 1;
    if (refuse(request, response)) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    request.socket.setNoDelay(true);
    const stream: OpenStream = {
      path: request.url ?? '',
      headers: request.headers,
      socket: request.socket,
      closed: new Promise(resolve => response.once('close', () => resolve())),
      async write(...pieces) {
        for (const piece of pieces)
          await new Promise<void>(resolve => response.write(piece, () => resolve()));
      },
      end: () => void response.end(),
      destroy: () => void response.destroy(),
    };
    const resolveNext = waiters.shift();
    if (resolveNext === undefined) streams.push(stream);
    else resolveNext(stream);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    calls: () => calls,
    opened: () =>
      new Promise(resolve => {
        const stream = streams.shift();
        if (stream === undefined) waiters.push(resolve);
        else resolve(stream);
      }),
  };
}
