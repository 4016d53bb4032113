import { StreamPing } from '../../../protocol/events.ts';

/** Messages of an event stream. Between `open` and the next `lost` or `refused`, no event is missing. */
export type StreamMessage =
  | { readonly kind: 'open' }
  /** The connection broke and is being reopened. */
  | { readonly kind: 'lost' }
  /** The server's response was no event stream, perhaps because the session has ended. The connection is retried. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'frame'; readonly data: string };

export type StreamListener = (message: StreamMessage) => void;

/** Opens the stream at this URL and reports its messages until the returned function is called. */
export type OpenStream = (url: string, notify: StreamListener) => () => void;

/** The part of `EventSource` that this module uses. */
export interface EventSourceLike {
  readonly readyState: number;
  addEventListener(type: 'open' | 'error', run: () => void): void;
  addEventListener(type: 'message', run: (event: { readonly data: string }) => void): void;
  close(): void;
}

export interface OwnStreamDeps {
  readonly connect: (url: string) => EventSourceLike;
  /** Runs a function after a delay in milliseconds; the returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** Value of `readyState` when the browser does not reconnect: `EventSource.CLOSED`. */
const closed = 2;
/** Pause before a retry. `EventSource` itself does not retry when the response is no event stream. */
const retryMs = 2_000;
/** Time limit for opening a connection. A suspended server accepts connections but does not answer. */
const openWithinMs = 10_000;
/** A connection is dead when it was silent for this many ping intervals plus a margin for the network. */
const maxMissed = 2;
const graceMs = 5_000;

/**
 * Creates a function that opens each stream over a separate connection. The stream reconnects when the server's pings
 * stop, because neither a suspended server nor a lost network closes a connection.
 */
export const createOwnStream =
  ({ connect, after }: OwnStreamDeps): OpenStream =>
  (url, notify) => {
    let source: EventSourceLike;
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
        notify({ kind: 'lost' });
        wait(retryMs, open);
      };
      const watch = (): void => wait(silenceMs, giveUp);
      watch();
      opened.addEventListener('open', () => {
        // Older servers send no pings, so the stream may be silent for any time.
        silenceMs = Number.POSITIVE_INFINITY;
        cancel();
        notify({ kind: 'open' });
      });
      opened.addEventListener('message', ({ data }) => {
        silenceMs = handleFrame(data, notify) ?? silenceMs;
        if (Number.isFinite(silenceMs)) watch();
      });
      opened.addEventListener('error', () => {
        if (opened.readyState !== closed) {
          // The browser reconnects by itself.
          silenceMs = openWithinMs;
          watch();
          return notify({ kind: 'lost' });
        }
        wait(retryMs, open);
        return notify({ kind: 'refused' });
      });
    };
    open();
    return () => {
      source.close();
      cancel();
    };
  };

/**
 * For a ping, returns the milliseconds of silence after which the connection is dead. Passes any other frame to
 * `notify` and returns null.
 */
function handleFrame(data: string, notify: StreamListener): number | null {
  if (data.startsWith('{"kind":"ping"')) {
    const ping = StreamPing.safeParse(JSON.parse(data));
    if (ping.success) return maxMissed * ping.data.every_ms + graceMs;
  }
  notify({ kind: 'frame', data });
  return null;
}
