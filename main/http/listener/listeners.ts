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
      const listener = await openHttpListener(
        { handler, streams, calls, limits, identity },
        host,
        port,
        isSecure,
      );
      // The certificate may have changed while the listener opened.
      if (identity !== null) listener.present(identity);
      const tracked = {
        ...listener,
        close() {
          open.delete(tracked);
          return listener.close();
        },
      };
      open.add(tracked);
      // `closeAll` ran while the listener opened.
      if (isClosed) await tracked.close();
      return tracked;
    },
    present(next) {
      identity = next;
      for (const listener of open) listener.present(next);
    },
    async closeAll() {
      isClosed = true;
      const listeners = [...open];
      open.clear();
      await Promise.all(listeners.map(listener => listener.close()));
    },
  };
}
