import type { VirtualClock } from '../../support/virtual-clock.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Server, ServerEnd, WireRequest } from './wire.ts';

/** Events that the client of a stream receives. The last one is `onEnd` or `onError`. */
export interface StreamListeners {
  onOpen(status: number): void;
  onFrame(frame: unknown): void;
  /** The server closed the stream in an orderly way. */
  onEnd(): void;
  onError(): void;
}

/** A TCP connection that carries frames from the server to the client, in order. */
export interface Connection {
  /** True when both ends keep the connection open and data arrives. */
  readonly isHealthy: boolean;
  /** Virtual time of the simulation at which the client learned that the stream is open; infinite until then. */
  readonly openSince: number;
  /** Closes the connection at the client's end. */
  close(): void;
  break(how: 'reset' | 'half-open'): void;
  /** Delivers the data that a cut of the link has held back, unless the link is still cut. */
  flush(): void;
  /** Calls back when both ends have closed the connection. */
  onClosed(run: () => void): void;
}

/** The properties of a link that its connections need. */
export interface LinkProperties {
  readonly name: string;
  isCut(direction: 'up' | 'down'): boolean;
  /** Returns the travel time of a message in ms. */
  transitMs(): number;
}

interface ConnectionDeps {
  readonly world: VirtualClock;
  readonly random: Random;
  readonly link: LinkProperties;
  readonly server: () => Server | null;
  readonly process: SimProcess;
  readonly request: WireRequest;
  readonly listeners: StreamListeners;
}

/** Time in ms after which a client gives up a connection that no server has accepted. */
const connectMs = 20_000;

export function openConnection(deps: ConnectionDeps): Connection {
  const { world, random, link, process, request, listeners } = deps;
  let isClientOpen = true;
  let isServerOpen = false;
  /** True when the connection carries no data any more, but neither end has noticed. */
  let isHalfOpen = false;
  let lastArrivalAt = 0;
  let openSince = Number.POSITIVE_INFINITY;
  let stalled: (() => void)[] = [];
  let release = (): void => {};
  const serverCloseListeners: (() => void)[] = [];
  const closeListeners: (() => void)[] = [];

  const notifyIfClosed = (): void => {
    if (!isClientOpen && !isServerOpen) for (const run of closeListeners) run();
  };
  const toClient = (run: () => void): void => {
    if (isHalfOpen) return;
    if (link.isCut('down') || stalled.length > 0) {
      stalled.push(run);
      return;
    }
    // Keep the order: no message overtakes an earlier one.
    lastArrivalAt = Math.max(lastArrivalAt, world.mono() + link.transitMs());
    world.after(lastArrivalAt - world.mono(), () => {
      if (!isHalfOpen) process.deliver(() => isClientOpen && run());
    });
  };
  const closeClientAnd = (notify: () => void) => (): void => {
    isClientOpen = false;
    notify();
    notifyIfClosed();
  };
  const closeServer = (): void => {
    if (!isServerOpen) return;
    isServerOpen = false;
    release();
    const server = deps.server();
    for (const run of serverCloseListeners) server?.process.deliver(run);
    notifyIfClosed();
  };
  /**
   * Closes the server's end: immediately when the close reaches the server, otherwise after 15 s to 10 min by a keepalive or a
   * failed send.
   */
  const closeServerLater = (): void => {
    const reachesServer = !isHalfOpen && !link.isCut('up');
    world.after(reachesServer ? link.transitMs() : random.int(15_000, 600_000), closeServer);
  };
  const closeClient = (): void => {
    if (!isClientOpen) return;
    isClientOpen = false;
    closeServerLater();
    notifyIfClosed();
  };

  const end: ServerEnd = {
    send: frame => toClient(() => listeners.onFrame(frame)),
    end() {
      toClient(closeClientAnd(() => listeners.onEnd()));
      world.after(random.int(1, 400), closeServer);
    },
    onClose: run => void serverCloseListeners.push(run),
  };
  const accept = (): void => {
    const server = deps.server();
    if (server === null) {
      toClient(closeClientAnd(() => listeners.onError()));
      return;
    }
    server.process.deliver(() => {
      if (!isClientOpen) return;
      isServerOpen = true;
      release = server.onReset(() => {
        isServerOpen = false;
        toClient(closeClientAnd(() => listeners.onError()));
        if (link.isCut('down')) isHalfOpen = true;
        notifyIfClosed();
      });
      const status = server.open(request, end, link.name);
      toClient(() => {
        openSince = world.mono();
        listeners.onOpen(status);
      });
      if (status !== 200) closeServer();
    });
  };

  process.onDeath(closeClient);
  if (link.isCut('up')) {
    world.after(connectMs, () =>
      process.deliver(() => isClientOpen && closeClientAnd(() => listeners.onError())()),
    );
  } else world.after(link.transitMs(), accept);

  return {
    get isHealthy() {
      return isClientOpen && isServerOpen && !isHalfOpen && stalled.length === 0;
    },
    get openSince() {
      return openSince;
    },
    close: closeClient,
    break(how) {
      if (how === 'half-open') {
        isHalfOpen = true;
        stalled = [];
        world.after(random.int(15_000, 600_000), closeServer);
        return;
      }
      world.after(link.transitMs(), closeServer);
      process.deliver(() => isClientOpen && closeClientAnd(() => listeners.onError())());
    },
    flush() {
      if (link.isCut('down')) return;
      const waiting = stalled;
      stalled = [];
      for (const run of waiting) toClient(run);
    },
    onClosed: run => void closeListeners.push(run),
  };
}
