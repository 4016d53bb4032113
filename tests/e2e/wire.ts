import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP proxy in front of a server. It forwards all data until its connections are cut. */
export interface Wire {
  readonly url: string;
  /** Disconnects every client and refuses new connections. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

export async function openWire(to: string): Promise<Wire> {
  const { port: target, hostname } = new URL(to);
  const sockets = new Set<Socket>();
  const server = createServer(near => {
    const far = connect(Number(target), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const cut = (): Promise<void> =>
    new Promise(resolve => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    mend: () => listen(port),
    close: () => (server.listening ? cut() : Promise.resolve()),
  };
}
