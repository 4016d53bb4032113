import type { HubWord, TabWord } from './hub.ts';
import type { OpenStream } from './news.ts';
import { openOwnStream } from './browser.ts';
import { type HubLine, sharedStream } from './shared.ts';

export type { OpenStream } from './news.ts';

/**
 * Follows the events of the server: all tabs of a browser through one connection, because over HTTP/1.1 there are six, and
 * each call needs one. Plain HTTP is no secure context: of what tabs can share there, a `SharedWorker` alone can hold a
 * connection. Where there is none, each tab has its own.
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
  // The script can not be had, or not be run.
  worker.addEventListener('error', onBroken);
  port.addEventListener('message', ({ data }: MessageEvent<HubWord>) => onWord(data));
  port.start();
  return {
    post: (word: TabWord) => port.postMessage(word),
    close: () => port.close(),
  };
}
