import net, { type AddressInfo, type Socket } from 'node:net';
import type { Way } from './plan.ts';

/**
 * A TCP proxy that simulates the network between an agent and the orchestrator. It does not parse HTTP, so it can break a
 * connection at any byte. `up` is the direction towards the orchestrator.
 */
export interface Link {
  readonly url: string;
  /** Holds data back until `heal`. */
  stall(way: Way): void;
  /** Drops all data. A direction that has lost data drops everything later too, even after `heal`. */
  lose(way: Way): void;
  /** Accepts no new connections. */
  refuse(): void;
  /** Delays all further data by this many ms until `heal`. */
  delay(ms: number): void;
  /** Resets all connections. */
  cut(): void;
  /** Resets a connection after this many further bytes to agents, counted over all connections. */
  cutAfter(bytes: number): void;
  /** Ends all faults except resets. Resolves when the link accepts connections. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

type DirectionFault = 'clear' | 'stall' | 'lose';

/** One direction of a connection, as a queue. `end` marks the end of the data. */
interface Lane {
  push(bytes: Buffer | 'end'): void;
  /** Delivers queued data as far as the current fault and delay permit. */
  update(): void;
}

export async function openLink(port: number): Promise<Link> {
  const faults: Record<'up' | 'down', DirectionFault> = { up: 'clear', down: 'clear' };
  let delayMs = 0;
  /** Number of further bytes to agents after which a connection is reset; null when none is planned. */
  let bytesUntilCut: number | null = null;
  const sockets = new Set<Socket>();
  const lanes = new Set<Lane>();

  const createLane = (direction: 'up' | 'down', from: Socket, to: Socket): Lane => {
    const queue: { readonly bytes: Buffer | 'end'; readonly due: number }[] = [];
    let isLost = false;
    let timer: NodeJS.Timeout | null = null;
    const deliver = (bytes: Buffer | 'end'): void => {
      // The target is closed, so reset the source, as a kernel does.
      if (to.destroyed) return resetSocket(from);
      if (bytes === 'end') return void to.end();
      if (direction === 'down' && bytesUntilCut !== null) {
        if (bytes.length >= bytesUntilCut) {
          to.write(bytes.subarray(0, bytesUntilCut), () => [from, to].forEach(resetSocket));
          bytesUntilCut = null;
          return;
        }
        bytesUntilCut -= bytes.length;
      }
      to.write(bytes);
    };
    const update = (): void => {
      if (timer !== null || faults[direction] === 'stall') return;
      for (let next = queue[0]; next !== undefined; next = queue[0]) {
        const waitMs = next.due - performance.now();
        if (waitMs > 0) {
          timer = setTimeout(() => {
            timer = null;
            update();
          }, waitMs);
          return;
        }
        queue.shift();
        deliver(next.bytes);
      }
    };
    return {
      push(bytes) {
        isLost ||= faults[direction] === 'lose';
        if (isLost) return;
        queue.push({ bytes, due: performance.now() + delayMs });
        update();
      },
      update,
    };
  };

  const join = (agent: Socket): void => {
    const server = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    const pair = [agent, server];
    const up = createLane('up', agent, server);
    const down = createLane('down', server, agent);
    const removeLanes = (): void => {
      if (!pair.every(({ destroyed }) => destroyed)) return;
      lanes.delete(up);
      lanes.delete(down);
    };
    lanes.add(up);
    lanes.add(down);
    for (const [socket, lane] of [
      [agent, up],
      [server, down],
    ] as const) {
      sockets.add(socket);
      socket.on('data', bytes => lane.push(bytes));
      socket.on('end', () => lane.push('end'));
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        // The end of the connection travels like data, so faults can delay or drop it.
        lane.push('end');
        removeLanes();
      });
    }
  };
  const listener = net.createServer({ noDelay: true, allowHalfOpen: true }, join);
  const listen = (listenPort: number): Promise<void> =>
    new Promise((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(listenPort, '127.0.0.1', () => {
        listener.removeListener('error', reject);
        resolve();
      });
    });
  await listen(0);
  const linkPort = (listener.address() as AddressInfo).port;
  const setFault = (fault: DirectionFault, way: Way): void => {
    if (way !== 'down') faults.up = fault;
    if (way !== 'up') faults.down = fault;
  };
  const cut = (): void => {
    for (const socket of sockets) resetSocket(socket);
  };
  return {
    url: `http://127.0.0.1:${linkPort}`,
    stall: way => setFault('stall', way),
    lose: way => setFault('lose', way),
    refuse: () => void listener.close(),
    delay(ms) {
      delayMs = ms;
    },
    cut,
    cutAfter(bytes) {
      bytesUntilCut = bytes;
    },
    async heal() {
      setFault('clear', 'both');
      delayMs = 0;
      for (const lane of lanes) lane.update();
      if (!listener.listening) await listen(linkPort);
    },
    async close() {
      const closed = new Promise<void>(resolve => {
        if (listener.listening) listener.close(() => resolve());
        else resolve();
      });
      cut();
      await closed;
    },
  };
}

function resetSocket(socket: Socket): void {
  if (!socket.destroyed && !socket.connecting && !socket.writableEnded) socket.resetAndDestroy();
  socket.destroy();
}
