import type { OpenStream } from './news.ts';
import { createOwnStream } from './own.ts';

/** By the means of the browser. */
export const openOwnStream: OpenStream = createOwnStream({
  connect: url => new EventSource(url),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
});
