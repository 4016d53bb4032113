import type { Log } from '../orchestrator/ports/index.ts';
import { isWildcard } from './addresses.ts';

/** A socket that accepts connections. */
export interface Listener {
  readonly port: number;
  /** Applies to new connections only. */
  speakTls(isSecure: boolean): void;
  /** Closes connections that use the other protocol. */
  dropOthers(): Promise<void>;
  /**
   * Stops accepting connections, ends streams, and gives running requests a moment to finish. Does not affect other listeners.
   */
  close(): Promise<void>;
}

export interface SocketDeps {
  /**
   * Rejects like `listen`: EADDRINUSE, EADDRNOTAVAIL, EACCES, ... On a wildcard address, connections over loopback use plain
   * HTTP.
   */
  readonly listen: (host: string, port: number, isSecure: boolean) => Promise<Listener>;
  readonly log: Log;
  readonly port: number;
}

export const loopback = '127.0.0.1';

export const isHome = (host: string): boolean => host === loopback || host === '::1' || host === 'localhost';

export const speaksTls = (isSecure: boolean, address: string): boolean => isSecure && !isHome(address);

/** The first socket, plus one for each further address. */
export function createSockets({ listen, log, port: wantedPort }: SocketDeps) {
  let first: Listener | null = null;
  let isFirstForAll = false;
  const port = (): number => first?.port ?? wantedPort;
  const open = new Map<string, Listener>();
  const warned = new Set<string>();
  const leave = async (addresses: readonly string[]): Promise<void> => {
    const left = addresses.flatMap(address => open.get(address) ?? []);
    for (const address of addresses) open.delete(address);
    await Promise.all(left.map(listener => listener.close()));
  };
  return {
    addresses: (): readonly string[] => [...open.keys()],
    leave,
    port,
    /** A wildcard socket uses TLS only with other machines. */
    async openFirst(host: string, isSecure: boolean): Promise<void> {
      isFirstForAll = isWildcard(host);
      first = await listen(host, wantedPort, isFirstForAll && isSecure);
    },
    /** Applies to new connections only. */
    speakTls(isSecure: boolean): void {
      if (isFirstForAll) first?.speakTls(isSecure);
      for (const [address, listener] of open) listener.speakTls(speaksTls(isSecure, address));
    },
    async dropOthers(): Promise<void> {
      const all = [...(first === null ? [] : [first]), ...open.values()];
      await Promise.all(all.map(listener => listener.dropOthers()));
    },
    /** Opens all addresses or none. Returns those that were not open before. */
    async openAll(addresses: readonly string[], isSecure: boolean): Promise<readonly string[]> {
      const opened: string[] = [];
      try {
        for (const address of addresses) {
          if (open.has(address)) continue;
          open.set(address, await listen(address, port(), speaksTls(isSecure, address)));
          opened.push(address);
        }
        warned.clear();
        return opened;
      } catch (cause) {
        await leave(opened);
        throw cause;
      }
    },
    /** Opens as many addresses as possible and retries the rest later. Logs each failure once. */
    async openSome(addresses: readonly string[], isSecure: boolean): Promise<void> {
      for (const address of addresses) {
        if (open.has(address)) continue;
        try {
          open.set(address, await listen(address, port(), speaksTls(isSecure, address)));
        } catch (cause) {
          if (!warned.has(address)) log.warn('server.not_listening', { address, port: port(), cause });
          warned.add(address);
        }
      }
    },
  };
}
