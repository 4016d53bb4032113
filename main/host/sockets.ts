import type { Log } from '../orchestrator/ports.ts';
import { isWildcard } from './addresses.ts';

/** A socket that takes calls. */
export interface Listener {
  readonly port: number;
  /** What is spoken with whoever comes from now on; who is there already is left alone. */
  speakTls(isSecure: boolean): void;
  /** Ends the connections that do not speak what is spoken now. */
  dropOthers(): Promise<void>;
  /** Takes no more calls, ends its streams, lets calls in progress finish for a moment. Other listeners go on. */
  close(): Promise<void>;
}

export interface SocketParts {
  /** Rejects as `listen` does: EADDRINUSE, EADDRNOTAVAIL, EACCES, ... Of all addresses, those of the loopback speak plain HTTP. */
  readonly listen: (host: string, port: number, isSecure: boolean) => Promise<Listener>;
  readonly log: Log;
  readonly port: number;
}

export const home = '127.0.0.1';

export const isHome = (host: string): boolean => host === home || host === '::1' || host === 'localhost';

export const speaksTls = (isSecure: boolean, address: string): boolean => isSecure && !isHome(address);

/** The first, and one an address beside it. */
export function createSockets({ listen, log, port: wantedPort }: SocketParts) {
  let first: Listener | null = null;
  let isFirstForAll = false;
  const port = (): number => first?.port ?? wantedPort;
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
    port,
    /** One for all addresses speaks what it is to speak with those that are not this machine's alone. */
    async openFirst(host: string, isSecure: boolean): Promise<void> {
      isFirstForAll = isWildcard(host);
      first = await listen(host, wantedPort, isFirstForAll && isSecure);
    },
    /** With whoever comes from now on. */
    speakTls(isSecure: boolean): void {
      if (isFirstForAll) first?.speakTls(isSecure);
      for (const [address, listener] of open) listener.speakTls(speaksTls(isSecure, address));
    },
    async dropOthers(): Promise<void> {
      const all = [...(first === null ? [] : [first]), ...open.values()];
      await Promise.all(all.map(listener => listener.dropOthers()));
    },
    /** All of them, or none; answers with those that were not open before. */
    async openAll(addresses: readonly string[], isSecure: boolean): Promise<readonly string[]> {
      const opened: string[] = [];
      try {
        for (const address of addresses) {
          if (open.has(address)) continue;
          open.set(address, await listen(address, port(), speaksTls(isSecure, address)));
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
    async openSome(addresses: readonly string[], isSecure: boolean): Promise<void> {
      for (const address of addresses) {
        if (open.has(address)) continue;
        try {
          open.set(address, await listen(address, port(), speaksTls(isSecure, address)));
        } catch (cause) {
          if (!told.has(address)) log.warn('server.not_listening', { address, port: port(), cause });
          told.add(address);
        }
      }
    },
  };
}
