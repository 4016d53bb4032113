import { StreamPing } from '../../../protocol/events.ts';
import type { OpenStream, Tell } from './news.ts';

/** As much of an `EventSource` as is needed. */
export interface Source {
  readonly readyState: number;
  addEventListener(type: 'open' | 'error', run: () => void): void;
  addEventListener(type: 'message', run: (event: { readonly data: string }) => void): void;
  close(): void;
}

export interface OwnStreamParts {
  readonly connect: (url: string) => Source;
  /** Calls back after so many milliseconds; what it returns cancels that. */
  readonly after: (ms: number, run: () => void) => () => void;
}

const closed = 2;
/** A browser gives up on an answer that is no stream, such as a refusal; this does not. */
const retryMs = 2_000;
/** A server that is stopped accepts connections and answers none. */
const openWithinMs = 10_000;
/** Silence of so many pings, and a little for the network, means that the connection is dead. */
const maxMissed = 2;
const graceMs = 5_000;

/**
 * A connection of its own: each one is one of the six that a browser has to a server. The server pings it; a stream that stays
 * silent is closed and opened again, because a stopped server or a vanished network closes nothing by itself.
 */
export const createOwnStream =
  ({ connect, after }: OwnStreamParts): OpenStream =>
  (url, tell) => {
    let source: Source;
    let cancel = (): void => undefined;
    const wait = (ms: number, run: () => void): void => {
      cancel();
      cancel = after(ms, run);
    };
    const open = (): void => {
      const opened = connect(url);
      source = opened;
      let silenceMs = openWithinMs;
      const giveUp = (): void => {
        opened.close();
        tell({ kind: 'lost' });
        wait(retryMs, open);
      };
      const watch = (): void => wait(silenceMs, giveUp);
      watch();
      opened.addEventListener('open', () => {
        // A server of an earlier version sends no pings that a page can see.
        silenceMs = Number.POSITIVE_INFINITY;
        cancel();
        tell({ kind: 'open' });
      });
      opened.addEventListener('message', ({ data }) => {
        silenceMs = hear(data, tell) ?? silenceMs;
        if (Number.isFinite(silenceMs)) watch();
      });
      opened.addEventListener('error', () => {
        if (opened.readyState !== closed) {
          // The browser connects again by itself.
          silenceMs = openWithinMs;
          watch();
          return tell({ kind: 'lost' });
        }
        wait(retryMs, open);
        return tell({ kind: 'refused' });
      });
    };
    open();
    return () => {
      source.close();
      cancel();
    };
  };

/** Returns the silence to allow from now on, where the frame is a ping; everything else is told. */
function hear(data: string, tell: Tell): number | null {
  if (data.startsWith('{"kind":"ping"')) {
    const ping = StreamPing.safeParse(JSON.parse(data));
    if (ping.success) return maxMissed * ping.data.every_ms + graceMs;
  }
  tell({ kind: 'frame', data });
  return null;
}
