import { createOwnStream, type OpenStream, type StreamListener } from './own.ts';

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Opens a stream with the browser's `EventSource`. */
export const openOwnStream: OpenStream = createOwnStream({ connect: url => new EventSource(url), after });

/** Opens a stream whose URL is computed again before each connection. */
export const openMovingStream = (address: () => string, notify: StreamListener): (() => void) =>
  createOwnStream({ connect: () => new EventSource(address()), after })('', notify);
