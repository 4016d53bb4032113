import { openOwnStream } from './browser.ts';
import type { OpenStream } from './own.ts';
import { type HubConnection, type HubMessage, sharedStream, type TabMessage } from './shared.ts';

export type { OpenStream } from './own.ts';

/**
 * Follows the server's events through one connection for all tabs, because over HTTP/1.1 a browser opens at most six
 * connections per server. Over plain HTTP, which is not a secure context, only a `SharedWorker` can share a connection.
 * Where the browser has no `SharedWorker`, each tab opens its own stream.
 */
export const openStream: OpenStream = (url, notify) => {
  const open = typeof SharedWorker === 'undefined' ? openOwnStream : shared();
  return open(url, notify);
};

const shared = (): OpenStream =>
  sharedStream({ connect: connectToWorker, openOwn: openOwnStream, page: globalThis.window });

function connectToWorker(onMessage: (word: HubMessage) => void, onBroken: () => void): HubConnection {
  const worker = new SharedWorker(new URL('./stream-worker.ts', import.meta.url), {
    type: 'module',
    name: 'trainyard-events',
  });
  const { port } = worker;
  // The worker script could not be loaded or started.
  worker.addEventListener('error', onBroken);
  port.addEventListener('message', ({ data }: MessageEvent<HubMessage>) => onMessage(data));
  port.start();
  return {
    post: (message: TabMessage) => port.postMessage(message),
    close: () => port.close(),
  };
}
