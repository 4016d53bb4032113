import type { HubWord, TabWord } from './hub.ts';
import type { OpenStream } from './news.ts';
import { openOwnStream } from './browser.ts';
import { type HubLine, sharedStream } from './shared.ts';

export type { OpenStream } from './news.ts';

/**
 * Follows the server's events through one connection for all tabs. Over HTTP/1.1 a browser has six connections, and every call needs one.
 * Plain HTTP is no secure context; there, only a `SharedWorker` can share a connection. Without it, each tab opens its own.
 */
export const openStream: OpenStream = (url, tell) => {
  const open = typeof SharedWorker === 'undefined' ? openOwnStream : shared();
  return open(url, tell);
};

const shared = (): OpenStream =>
  sharedStream({ connect: connectToWorker, openOwn: openOwnStream, page: globalThis.window });

function connectToWorker(onWord: (word: HubWord) => void, onBroken: () => void): HubLine {
  const worker = new SharedWorker(new URL('./stream-worker.ts', import.meta.url), {
    type: 'module',
    name: 'trainyard-events',
  });
  const { port } = worker;
  // The worker script could not be loaded or started.
  worker.addEventListener('error', onBroken);
  port.addEventListener('message', ({ data }: MessageEvent<HubWord>) => onWord(data));
  port.start();
  return {
    post: (word: TabWord) => port.postMessage(word),
    close: () => port.close(),
  };
}
