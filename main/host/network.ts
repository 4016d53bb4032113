import type { Clock } from '../orchestrator/ports/index.ts';
import { addressesBehind, isLoopback, isWildcard, type MachineAddress, urlOf } from './addresses.ts';
import { createSockets, loopback, isLocalhost, type SocketDeps, usesTls } from './sockets.ts';

/** The address to listen on, and the protocol for other machines. */
export interface NetworkAccess {
  readonly host: string;
  /** True if other machines connect by TLS. */
  readonly isSecure: boolean;
}

export interface NetworkDeps extends SocketDeps {
  readonly addresses: () => readonly MachineAddress[];
  readonly clock: Clock;
  /** Address from a flag or the config file; null when the panel may change it. */
  readonly fixedHost: string | null;
  /** The address and protocol that were last set in the panel. */
  readonly access: NetworkAccess;
  /** Called when other machines can connect without encryption. */
  readonly onExposed: (host: string) => void;
}

/** A change in progress: the server already listens on the new addresses, and still listens on the old ones. */
export interface NetworkChange {
  /** Completes the change: closes the old addresses and the connections there. */
  commit(): void;
  /** Closes the new addresses again, and restores the previous protocol. */
  undo(): Promise<void>;
}

export interface Network extends NetworkAccess {
  readonly port: number;
  /** URL for clients on this machine; always plain HTTP. */
  readonly url: string;
  /** True if clients on this machine can connect through loopback. Only then can other machines be required to use TLS. */
  readonly hasLoopbackSocket: boolean;
  /** Returns the URLs on which the server currently listens. */
  listening(): readonly string[];
  /**
   * Opens the sockets. Rejects when the first socket or a fixed address cannot be opened. Other addresses are retried later.
   */
  open(): Promise<void>;
  /** Opens the new addresses. If one of them cannot be opened, rejects and changes nothing. */
  change(next: NetworkAccess): Promise<NetworkChange>;
  /** Stops watching for new addresses. The sockets are closed by the code that created the listeners. */
  stop(): void;
}

/** Interval of the search for new addresses. A machine gets a new address when it joins another network. */
const checkEveryMs = 10_000;

/**
 * Manages the addresses on which the orchestrator listens. The first socket stays open and uses plain HTTP; `baseOf` returns
 * its address. The window, the local worker and the command line connect there, so a change never disconnects them. For other
 * machines there is one socket per address, because a wildcard socket cannot share the port with the loopback socket
 * (docs/adr/0011).
 */
export function createNetwork(deps: NetworkDeps): Network {
  const { clock, fixedHost, addresses } = deps;
  const runAlone = createSerialRunner();
  const sockets = createSockets(deps);
  const firstHost = baseOf(deps);
  let access: NetworkAccess = { host: fixedHost ?? deps.access.host, isSecure: deps.access.isSecure };
  let isStopped = false;
  let cancelTimer = (): void => {};

  const addressesFor = (host: string): readonly string[] => {
    if (firstHost === fixedHost || host === loopback) return [];
    return isWildcard(host) ? addressesBehind(host, addresses()).map(({ address }) => address) : [host];
  };
  const scheduleCheck = (): void => {
    cancelTimer();
    if (!isStopped && access.host !== loopback && firstHost !== fixedHost)
      cancelTimer = clock.after(checkEveryMs, () => void runAlone(openNewAddresses).then(scheduleCheck));
  };
  const openNewAddresses = (): Promise<void> =>
    sockets.openSome(isStopped ? [] : addressesFor(access.host), access.isSecure);
  const warnIfExposed = (): void => {
    if (!isLoopback(access.host) && !access.isSecure) deps.onExposed(access.host);
  };
  const change = async (next: NetworkAccess): Promise<NetworkChange> => {
    const opened = await sockets.openAll(addressesFor(next.host), next.isSecure);
    const was = access;
    access = next;
    sockets.setTls(next.isSecure);
    return {
      commit() {
        const needed = addressesFor(next.host);
        // Not awaited, because closing streams takes a while and nothing depends on it.
        void sockets.closeAddresses(sockets.addresses().filter(address => !needed.includes(address)));
        void sockets.closeOtherProtocol();
        warnIfExposed();
        scheduleCheck();
      },
      async undo() {
        access = was;
        sockets.setTls(was.isSecure);
        await sockets.closeAddresses(opened);
        await sockets.closeOtherProtocol();
      },
    };
  };

  const localHost = isWildcard(firstHost) ? loopback : firstHost;
  return {
    get host() {
      return access.host;
    },
    get isSecure() {
      return access.isSecure;
    },
    get port() {
      return sockets.port();
    },
    get url() {
      return urlOf(localHost, sockets.port(), false);
    },
    hasLoopbackSocket: isLocalhost(firstHost) || isWildcard(firstHost),
    listening() {
      const behind = isWildcard(firstHost) ? addressesBehind(firstHost, addresses()) : [];
      const others = [...behind.map(({ address }) => address), ...sockets.addresses()];
      const urls = others.map(address => urlOf(address, sockets.port(), usesTls(access.isSecure, address)));
      return [urlOf(localHost, sockets.port(), false), ...urls];
    },
    async open() {
      await sockets.openFirst(firstHost, access.isSecure);
      warnIfExposed();
      // The server must not start if a fixed address cannot be opened.
      await runAlone(async () => {
        if (fixedHost === null) await openNewAddresses();
        else await sockets.openAll(addressesFor(fixedHost), access.isSecure);
      });
      scheduleCheck();
    },
    change: next => runAlone(() => change(next)),
    stop() {
      isStopped = true;
      cancelTimer();
    },
  };
}

/**
 * Returns the address of the first socket. If a fixed external address uses TLS, the first socket is a loopback socket, so that
 * clients on this machine can use plain HTTP.
 */
function baseOf({ fixedHost, access }: NetworkDeps): string {
  if (fixedHost === null) return loopback;
  return isLocalhost(fixedHost) || isWildcard(fixedHost) || !access.isSecure ? fixedHost : loopback;
}

/** Returns a function that runs changes one at a time, because two changes could try to open the same socket. */
function createSerialRunner() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>): Promise<T> => {
    const turn = last.then(act);
    last = turn.catch(() => undefined);
    return turn;
  };
}
