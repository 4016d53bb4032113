import type { Log } from '../orchestrator/ports/index.ts';
import { isWildcard } from './addresses.ts';

/** A socket that accepts connections. */
export interface Listener {
  readonly port: number;
  /** Sets whether new connections use TLS. Existing connections do not change. */
  setTls(isSecure: boolean): void;
  /** Closes the connections that do not use the current protocol. */
  closeOtherProtocol(): Promise<void>;
  /**
   * Stops accepting connections, ends streams, and gives running requests a moment to finish. Other listeners are not affected.
   */
  close(): Promise<void>;
}

export interface SocketDeps {
  /**
   * Opens a socket. Rejects like Node's `listen`: EADDRINUSE, EADDRNOTAVAIL, EACCES, ... On a wildcard address, connections over
   * loopback use plain HTTP even with `isSecure`.
   */
  readonly listen: (host: string, port: number, isSecure: boolean) => Promise<Listener>;
  readonly log: Log;
  readonly port: number;
}

export const loopback = '127.0.0.1';

export const isLocalhost = (host: string): boolean =>
  host === loopback || host === '::1' || host === 'localhost';

export const usesTls = (isSecure: boolean, address: string): boolean => isSecure && !isLocalhost(address);

/** Manages the first socket and one socket for each further address. */
export function createSockets({ listen, log, port: wantedPort }: SocketDeps) {
  let first: Listener | null = null;
  let isFirstWildcard = false;
  const port = (): number => first?.port ?? wantedPort;
  const open = new Map<string, Listener>();
  const warned = new Set<string>();
  const closeAddresses = async (addresses: readonly string[]): Promise<void> => {
    const left = addresses.flatMap(address => open.get(address) ?? []);
    for (const address of addresses) open.delete(address);
    await Promise.all(left.map(listener => listener.close()));
  };
  return {
    addresses: (): readonly string[] => [...open.keys()],
    closeAddresses,
    port,
    /** Opens the first socket. If it is a wildcard socket, only other machines use TLS there. */
    async openFirst(host: string, isSecure: boolean): Promise<void> {
      isFirstWildcard = isWildcard(host);
      first = await listen(host, wantedPort, isFirstWildcard && isSecure);
    },
    /** Sets whether new connections from other machines use TLS. */
    setTls(isSecure: boolean): void {
      if (isFirstWildcard) first?.setTls(isSecure);
      for (const [address, listener] of open) listener.setTls(usesTls(isSecure, address));
    },
    async closeOtherProtocol(): Promise<void> {
      const all = [...(first === null ? [] : [first]), ...open.values()];
      await Promise.all(all.map(listener => listener.closeOtherProtocol()));
    },
    /** Opens all addresses or none. Returns the addresses that were not open before. */
    async openAll(addresses: readonly string[], isSecure: boolean): Promise<readonly string[]> {
      const opened: string[] = [];
      try {
        for (const address of addresses) {
          if (open.has(address)) continue;
          open.set(address, await listen(address, port(), usesTls(isSecure, address)));
          opened.push(address);
        }
        warned.clear();
        return opened;
      } catch (cause) {
        await closeAddresses(opened);
        throw cause;
      }
    },
    /** Opens as many addresses as possible. The caller retries the others later. Logs each failure once. */
    async openSome(addresses: readonly string[], isSecure: boolean): Promise<void> {
      for (const address of addresses) {
        if (open.has(address)) continue;
        try {
          open.set(address, await listen(address, port(), usesTls(isSecure, address)));
        } catch (cause) {
          if (!warned.has(address)) log.warn('server.not_listening', { address, port: port(), cause });
          warned.add(address);
        }
      }
    },
  };
}
