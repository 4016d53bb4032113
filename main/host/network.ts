import type { Clock } from '../orchestrator/ports.ts';
import { addressesBehind, isLoopback, isWildcard, type MachineAddress, urlOf } from './addresses.ts';
import { createSockets, home, isHome, type SocketParts, speaksTls } from './sockets.ts';

/** Who reaches it, and how. */
export interface Reach {
  readonly host: string;
  /** Whether it speaks TLS with other machines. */
  readonly isSecure: boolean;
}

export interface NetworkParts extends SocketParts {
  readonly addresses: () => readonly MachineAddress[];
  readonly clock: Clock;
  /** Where a flag or the config file has it listen, and nowhere else; null for where it is moved to. */
  readonly fixedHost: string | null;
  /** What it was moved to last. */
  readonly reach: Reach;
  /** Other machines reach it, and what they send can be read on the way. */
  readonly onExposed: (host: string) => void;
}

/** It listens on the new address already, and still on the old one. */
export interface Move {
  /** Leaves the old one: who came that way is cut off. */
  settle(): void;
  undo(): Promise<void>;
}

export interface Network extends Reach {
  readonly port: number;
  /** For clients on this machine. */
  readonly url: string;
  /** Whether this machine is served by itself, so that others may be spoken to by TLS. */
  readonly hasHome: boolean;
  /** Where calls are taken now. */
  listening(): readonly string[];
  /** Fails when the first socket does, or one that is fixed; others for other machines are tried again later. */
  open(): Promise<void>;
  /** Rejects, with all as it was, when it can not listen on every address that the host stands for. */
  move(next: Reach): Promise<Move>;
  /** Looks no more for new addresses; its listeners are closed by whoever made them. */
  stop(): void;
}

/** A machine that joins another network has a new address. */
const lookEveryMs = 10_000;

/**
 * Where the orchestrator listens. The socket on the loopback address is opened first and stays, and speaks plain HTTP: the
 * window, the worker of this machine and the command line use it, and nothing that is moved cuts them off. For other machines
 * there is a socket an address, because one for all of them can not be opened beside the first (docs/adr/0011).
 */
export function createNetwork(parts: NetworkParts): Network {
  const { clock, fixedHost, addresses } = parts;
  const inTurn = createTurns();
  const sockets = createSockets(parts);
  const base = baseOf(parts);
  let reach: Reach = { host: fixedHost ?? parts.reach.host, isSecure: parts.reach.isSecure };
  let isStopped = false;
  let stopLooking = (): void => {};

  const wanted = (host: string): readonly string[] => {
    if (base === fixedHost || host === home) return [];
    return isWildcard(host) ? addressesBehind(host, addresses()).map(({ address }) => address) : [host];
  };
  const lookLater = (): void => {
    stopLooking();
    if (!isStopped && reach.host !== home && base !== fixedHost)
      stopLooking = clock.after(lookEveryMs, () => void inTurn(follow).then(lookLater));
  };
  const follow = (): Promise<void> => sockets.openSome(isStopped ? [] : wanted(reach.host), reach.isSecure);
  const tellIfExposed = (): void => {
    if (!isLoopback(reach.host) && !reach.isSecure) parts.onExposed(reach.host);
  };
  const move = async (next: Reach): Promise<Move> => {
    const opened = await sockets.openAll(wanted(next.host), next.isSecure);
    const was = reach;
    reach = next;
    sockets.speakTls(next.isSecure);
    return {
      settle() {
        const kept = wanted(next.host);
        // It takes a while to say goodbye, and nobody has to wait for that.
        void sockets.leave(sockets.addresses().filter(address => !kept.includes(address)));
        void sockets.dropOthers();
        tellIfExposed();
        lookLater();
      },
      async undo() {
        reach = was;
        sockets.speakTls(was.isSecure);
        await sockets.leave(opened);
        await sockets.dropOthers();
      },
    };
  };

  const here = isWildcard(base) ? home : base;
  return {
    get host() {
      return reach.host;
    },
    get isSecure() {
      return reach.isSecure;
    },
    get port() {
      return sockets.port();
    },
    get url() {
      return urlOf(here, sockets.port(), false);
    },
    hasHome: isHome(base) || isWildcard(base),
    listening() {
      const behind = isWildcard(base) ? addressesBehind(base, addresses()) : [];
      const far = [...behind.map(({ address }) => address), ...sockets.addresses()];
      const urls = far.map(address => urlOf(address, sockets.port(), speaksTls(reach.isSecure, address)));
      return [urlOf(here, sockets.port(), false), ...urls];
    },
    async open() {
      await sockets.openFirst(base, reach.isSecure);
      tellIfExposed();
      // What was asked for at the start and can not be had is a reason not to start.
      await inTurn(async () => {
        if (fixedHost === null) await follow();
        else await sockets.openAll(wanted(fixedHost), reach.isSecure);
      });
      lookLater();
    },
    move: next => inTurn(() => move(next)),
    stop() {
      isStopped = true;
      stopLooking();
    },
  };
}

/** Where the first socket is. One that is fixed on an address of others, and speaks TLS there, serves this machine beside it. */
function baseOf({ fixedHost, reach }: NetworkParts): string {
  if (fixedHost === null) return home;
  return isHome(fixedHost) || isWildcard(fixedHost) || !reach.isSecure ? fixedHost : home;
}

/** One after the other: two that open the same socket would get in each other's way. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>): Promise<T> => {
    const turn = last.then(act);
    last = turn.catch(() => undefined);
    return turn;
  };
}
