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
  readonly isWhole: boolean;
  /** World time at which the client learned that the stream is open; infinite before. */
  readonly openSince: number;
  /** Closes the connection at the client's end. */
  close(): void;
  break(how: 'reset' | 'half-open'): void;
  /** Delivers the data that an outage has held back. */
  flush(): void;
  /** Calls back when both ends have closed the connection. */
  onGone(run: () => void): void;
}

/** The properties of a link that its connections need. */
export interface Way {
  readonly name: string;
  isCut(direction: 'up' | 'down'): boolean;
  /** Returns the travel time of a message in ms. */
  transitMs(): number;
}

interface ConnectionDeps {
  readonly world: VirtualClock;
  readonly random: Random;
  readonly link: Way;
  readonly server: () => Server | null;
  readonly process: SimProcess;
  readonly request: WireRequest;
  readonly listeners: StreamListeners;
}

/** A client gives up a connection that no server has accepted after this time, in ms. */
const connectMs = 20_000;

export function openConnection(parts: ConnectionDeps): Connection {
  const { world, random, link, process, request, listeners } = parts;
  let clientHolds = true;
  let serverHolds = false;
  /** True when the connection carries no data but neither end has noticed. */
  let isHalfOpen = false;
  let orderly = 0;
  let openSince = Number.POSITIVE_INFINITY;
  let stalled: (() => void)[] = [];
  let release = (): void => {};
  const closers: (() => void)[] = [];
  const closeListeners: (() => void)[] = [];

  const notifyGone = (): void => {
    if (!clientHolds && !serverHolds) for (const run of closeListeners) run();
  };
  const toClient = (run: () => void): void => {
    if (isHalfOpen) return;
    if (link.isCut('down') || stalled.length > 0) {
      stalled.push(run);
      return;
    }
    // Keep the order: no message overtakes an earlier one.
    orderly = Math.max(orderly, world.mono() + link.transitMs());
    world.after(orderly - world.mono(), () => {
      if (!isHalfOpen) process.deliver(() => clientHolds && run());
    });
  };
  const leave = (tell: () => void) => (): void => {
    clientHolds = false;
    tell();
    notifyGone();
  };
  const serverLoses = (): void => {
    if (!serverHolds) return;
    serverHolds = false;
    release();
    const server = parts.server();
    for (const run of closers) server?.process.deliver(run);
    notifyGone();
  };
  /** The server notices after 15 s to 10 min that the client is gone, by a keepalive or a failed send. */
  const serverLosesLater = (): void => {
    const knows = !isHalfOpen && !link.isCut('up');
    world.after(knows ? link.transitMs() : random.int(15_000, 600_000), serverLoses);
  };
  const clientLeaves = (): void => {
    if (!clientHolds) return;
    clientHolds = false;
    serverLosesLater();
    notifyGone();
  };

  const end: ServerEnd = {
    send: frame => toClient(() => listeners.onFrame(frame)),
    end() {
      toClient(leave(() => listeners.onEnd()));
      world.after(random.int(1, 400), serverLoses);
    },
    onClose: run => void closers.push(run),
  };
  const accept = (): void => {
    const server = parts.server();
    if (server === null) {
      toClient(leave(() => listeners.onError()));
      return;
    }
    server.process.deliver(() => {
      if (!clientHolds) return;
      serverHolds = true;
      release = server.hold(() => {
        serverHolds = false;
        toClient(leave(() => listeners.onError()));
        if (link.isCut('down')) isHalfOpen = true;
        notifyGone();
      });
      const status = server.open(request, end, link.name);
      toClient(() => {
        openSince = world.mono();
        listeners.onOpen(status);
      });
      if (status !== 200) serverLoses();
    });
  };

  process.onDeath(clientLeaves);
  if (link.isCut('up')) {
    world.after(connectMs, () => process.deliver(() => clientHolds && leave(() => listeners.onError())()));
  } else world.after(link.transitMs(), accept);

  return {
    get isWhole() {
      return clientHolds && serverHolds && !isHalfOpen && stalled.length === 0;
    },
    get openSince() {
      return openSince;
    },
    close: clientLeaves,
    break(how) {
      if (how === 'half-open') {
        isHalfOpen = true;
        stalled = [];
        world.after(random.int(15_000, 600_000), serverLoses);
        return;
      }
      world.after(link.transitMs(), serverLoses);
      process.deliver(() => clientHolds && leave(() => listeners.onError())());
    },
    flush() {
      if (link.isCut('down')) return;
      const waiting = stalled;
      stalled = [];
      for (const run of waiting) toClient(run);
    },
    onGone: run => void closeListeners.push(run),
  };
}
