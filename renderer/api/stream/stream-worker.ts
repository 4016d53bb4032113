/** The script of the `SharedWorker` that all tabs of a browser share. */
import { createHub, type TabMessage } from './shared.ts';
import { openOwnStream } from './browser.ts';

const sweepMs = 60_000;

const hub = createHub({ openStream: openOwnStream, now: Date.now });
globalThis.addEventListener('connect', event => {
  if (!(event instanceof MessageEvent)) return;
  for (const port of event.ports) {
    port.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => hub.receive(port, data));
    // Some browsers report closed and crashed tabs with this event. In others, the hub notices their silence.
    port.addEventListener('close', () => hub.drop(port));
    port.start();
  }
});
setInterval(() => hub.sweep(), sweepMs);
