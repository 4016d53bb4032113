import type { Clock, Log } from '../orchestrator/ports.ts';
import { addressesBehind, isLoopback, isWildcard, type MachineAddress, urlOf } from './addresses.ts';

/** A socket that takes calls. */
export interface Listener {
  readonly port: number;
  /** Takes no more calls, ends its streams, lets calls in progress finish for a moment. Other listeners go on. */
  close(): Promise<void>;
}

export interface NetworkParts {
  /** Rejects as `listen` does: EADDRINUSE, EADDRNOTAVAIL, EACCES, ... */
  readonly listen: (host: string, port: number) => Promise<Listener>;
  readonly addresses: () => readonly MachineAddress[];
  readonly clock: Clock;
  readonly log: Log;
  readonly port: number;
  /** Where a flag or the config file has it listen, and nowhere else; null for where it is moved to. */
  readonly fixedHost: string | null;
  /** Where it was moved to last. */
  readonly host: string;
}

/** It listens on the new address already, and still on the old one. */
export interface Move {
  /** Leaves the old one: who came that way is cut off. */
  settle(): void;
  undo(): Promise<void>;
}

export interface Network {
  readonly host: string;
  readonly port: number;
  /** For clients on this machine. */
  readonly url: string;
  /** Where calls are taken now. */
  listening(): readonly string[];
  /** Fails when the first socket does; those for other machines are tried again later. */
  open(): Promise<void>;
  /** Rejects, with all as it was, when it can not listen on every address that the host stands for. */
  move(host: string): Promise<Move>;
  /** Looks no more for new addresses; its listeners are closed by whoever made them. */
  stop(): void;
}

const home = '127.0.0.1';
/** A machine that joins another network has a new address. */
const lookEveryMs = 10_000;

/**
 * Where the orchestrator listens. The socket on the loopback address is opened first and stays: the window, the worker of
 * this machine and the command line use it, and nothing that is moved cuts them off. For other machines there is a socket
 * an address, because one for all of them can not be opened beside the first (docs/adr/0011).
 */
export function createNetwork(parts: NetworkParts): Network {
  const { clock, fixedHost, addresses } = parts;
  const inTurn = createTurns();
  const others = createSockets(parts, () => port());
  let first: Listener | null = null;
  let host = fixedHost ?? parts.host;
  let isStopped = false;
  let stopLooking = (): void => {};

  const port = (): number => first?.port ?? parts.port;
  const wanted = (of: string): readonly string[] => {
    if (fixedHost !== null || of === home) return [];
    return isWildcard(of) ? addressesBehind(of, addresses()).map(({ address }) => address) : [of];
  };
  const lookLater = (): void => {
    stopLooking();
    if (!isStopped && host !== home && fixedHost === null)
      stopLooking = clock.after(lookEveryMs, () => void inTurn(follow).then(lookLater));
  };
  const follow = (): Promise<void> => others.openSome(isStopped ? [] : wanted(host));
  const move = async (next: string): Promise<Move> => {
    const opened = await others.openAll(wanted(next));
    const was = host;
    host = next;
    return {
      settle() {
        const kept = wanted(next);
        // It takes a while to say goodbye, and nobody has to wait for that.
        void others.leave(others.addresses().filter(address => !kept.includes(address)));
        if (!isLoopback(host)) warnOf(parts.log, host);
        lookLater();
      },
      async undo() {
        host = was;
        await others.leave(opened);
      },
    };
  };

  const here = fixedHost === null || isWildcard(fixedHost) ? home : fixedHost;
  return {
    get host() {
      return host;
    },
    get port() {
      return port();
    },
    get url() {
      return urlOf(here, port());
    },
    listening() {
      const behind = isWildcard(fixedHost ?? '') ? addressesBehind(host, addresses()) : [];
      return [here, ...behind.map(({ address }) => address), ...others.addresses()].map(address =>
        urlOf(address, port()),
      );
    },
    async open() {
      first = await parts.listen(fixedHost ?? home, parts.port);
      if (!isLoopback(host)) warnOf(parts.log, host);
      await inTurn(follow);
      lookLater();
    },
    move: next => inTurn(() => move(next)),
    stop() {
      isStopped = true;
      stopLooking();
    },
  };
}

/** One an address, beside the first. */
function createSockets({ listen, log }: NetworkParts, port: () => number) {
  const open = new Map<string, Listener>();
  const told = new Set<string>();
  const leave = async (addresses: readonly string[]): Promise<void> => {
    const left = addresses.flatMap(address => open.get(address) ?? []);
    for (const address of addresses) open.delete(address);
    await Promise.all(left.map(listener => listener.close()));
  };
  return {
    addresses: (): readonly string[] => [...open.keys()],
    leave,
    /** All of them, or none; answers with those that were not open before. */
    async openAll(addresses: readonly string[]): Promise<readonly string[]> {
      const opened: string[] = [];
      try {
        for (const address of addresses) {
          if (open.has(address)) continue;
          open.set(address, await listen(address, port()));
          opened.push(address);
        }
        told.clear();
        return opened;
      } catch (cause) {
        await leave(opened);
        throw cause;
      }
    },
    /** As many as can be. What can not is said once: its address may come back, its port become free. */
    async openSome(addresses: readonly string[]): Promise<void> {
      for (const address of addresses) {
        if (open.has(address)) continue;
        try {
          open.set(address, await listen(address, port()));
        } catch (cause) {
          if (!told.has(address)) log.warn('server.not_listening', { address, port: port(), cause });
          told.add(address);
        }
      }
    },
  };
}

const warnOf = (log: Log, host: string): void =>
  log.warn('server.exposed', { host, note: 'tokens travel unencrypted: put TLS in front of it' });

/** One after the other: two that open the same socket would get in each other's way. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>): Promise<T> => {
    const turn = last.then(act);
    last = turn.catch(() => undefined);
    return turn;
  };
}
