/** Runs in the shared worker of a browser's tabs. */
import { createHub, type TabMessage } from './shared.ts';
import { openOwnStream } from './browser.ts';

const sweepMs = 60_000;

const hub = createHub({ openStream: openOwnStream, now: Date.now });
globalThis.addEventListener('connect', event => {
  if (!(event instanceof MessageEvent)) return;
  for (const port of event.ports) {
    port.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => hub.receive(port, data));
    // Browsers that support this event report closed tabs at once, crashed ones included.
    port.addEventListener('close', () => hub.drop(port));
    port.start();
  }
});
setInterval(() => hub.sweep(), sweepMs);
