import type { RequestListener } from 'node:http';
import type { Calls } from './calls.ts';
import { type HttpListener, openHttpListener, type SocketLimits, type TlsIdentity } from './http-listener.ts';
import type { StreamRegistry } from './stream-registry.ts';

export type Listener = Omit<HttpListener, 'present'>;

export interface Listeners {
  /** Rejects as `listen` does: EADDRINUSE, EACCES, ... */
  listen(host: string, port: number, isSecure: boolean): Promise<Listener>;
  /** Sets the certificate for new TLS connections of all listeners. */
  present(identity: TlsIdentity): void;
  closeAll(): Promise<void>;
}

export function createListeners(
  handler: RequestListener,
  { streams, calls }: { readonly streams: StreamRegistry; readonly calls: Calls },
  limits: SocketLimits,
): Listeners {
  const open = new Set<HttpListener>();
  let identity: TlsIdentity | null = null;
  let isClosed = false;
  return {
    async listen(host, port, isSecure) {
      const door = await openHttpListener(
        { handler, streams, calls, limits, identity },
        host,
        port,
        isSecure,
      );
      // The certificate may have changed while the listener opened.
      if (identity !== null) door.present(identity);
      const listener = {
        ...door,
        close() {
          open.delete(door);
          return door.close();
        },
      };
      open.add(door);
      // `closeAll` ran while the listener opened.
      if (isClosed) await listener.close();
      return listener;
    },
    present(next) {
      identity = next;
      for (const door of open) door.present(next);
    },
    async closeAll() {
      isClosed = true;
      const doors = [...open];
      open.clear();
      await Promise.all(doors.map(door => door.close()));
    },
  };
}
