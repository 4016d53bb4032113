import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP proxy in front of an orchestrator. It counts the open event streams, and simulates faults. */
export interface CountingProxy {
  readonly url: string;
  /** The number of open event streams. */
  streams(): number;
  /** Breaks all connections and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
  /** Answers paths that match with 404 from now on. */
  hide(path: RegExp): void;
  /** Number of calls that were answered with 404. */
  hidden(): number;
  close(): Promise<void>;
}

export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const streams = new Set<ServerResponse>();
  let isCut = false;
  let hiding: RegExp | null = null;
  let hidden = 0;

  const forward = (incoming: IncomingMessage, answer: ServerResponse): void => {
    const path = incoming.url ?? '/';
    if (isCut) return void answer.destroy();
    if (hiding?.test(path) === true) {
      hidden += 1;
      return void answer.writeHead(404).end();
    }
    if (path.startsWith('/api/events')) {
      streams.add(answer);
      answer.on('close', () => streams.delete(answer));
    }
    const { method, headers } = incoming;
    const outgoing = request(new URL(path, target), { method, headers }, response => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
      response.on('error', () => answer.destroy());
    });
    outgoing.on('error', () => answer.destroy());
    answer.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
    return undefined;
  };
  const server = createServer(forward);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    streams: () => streams.size,
    cut() {
      isCut = true;
      server.closeAllConnections();
    },
    mend: () => void (isCut = false),
    hide: path => void (hiding = path),
    hidden: () => hidden,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
