/** What the shared worker of a browser's tabs runs. */
import { createHub, type TabWord } from './hub.ts';
import { openOwnStream } from './browser.ts';

const sweepMs = 60_000;

const hub = createHub({ openStream: openOwnStream, now: Date.now });
globalThis.addEventListener('connect', event => {
  if (!(event instanceof MessageEvent)) return;
  for (const port of event.ports) {
    port.addEventListener('message', ({ data }: MessageEvent<TabWord>) => hub.hear(port, data));
    // Where the browser says so, it comes at once, and of tabs that crashed, too.
    port.addEventListener('close', () => hub.drop(port));
    port.start();
  }
});
setInterval(() => hub.sweep(), sweepMs);
