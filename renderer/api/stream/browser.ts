import type { OpenStream, Tell } from './news.ts';
import { createOwnStream } from './own.ts';

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** By the means of the browser. */
export const openOwnStream: OpenStream = createOwnStream({ connect: url => new EventSource(url), after });

/** The same with an address that is computed before each connection. */
export const openMovingStream = (address: () => string, tell: Tell): (() => void) =>
  createOwnStream({ connect: () => new EventSource(address()), after })('', tell);
