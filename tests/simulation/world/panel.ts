import type { VirtualClock } from '../../support/virtual-clock.ts';
import type { Link } from './link.ts';
import type { SimProcess } from './process.ts';

export interface PanelEvent {
  readonly seq: number;
  readonly kind: string;
  readonly type?: string;
}

interface PanelDeps {
  readonly world: VirtualClock;
  readonly link: Link;
  readonly process: SimProcess;
  readonly onEvent: (event: PanelEvent) => void;
}

const reconnectMs = 3_000;
/** Silence in ms after which the panel reopens the stream. */
const silenceMs = 90_000;

/** Simulates a page that follows the event stream. After an interruption, the page continues after the last event that it got. */
export function openPanel({ link, process, onEvent }: PanelDeps): void {
  let last = 0;
  const connect = (): void => {
    let isClosed = false;
    let received = 0;
    const reconnect = (): void => {
      if (isClosed) return;
      isClosed = true;
      connection.close();
      process.clock.after(reconnectMs, connect);
    };
    const connection = link.connect(
      process,
      { kind: 'panel', after: last },
      {
        onOpen: () => {},
        onFrame(frame) {
          if (isClosed) return;
          received += 1;
          const event = frame as PanelEvent;
          last = event.seq;
          onEvent(event);
        },
        onEnd: reconnect,
        onError: reconnect,
      },
    );
    const watch = (before: number): void => {
      if (isClosed) return;
      if (received === before) reconnect();
      else process.clock.after(silenceMs, () => watch(received));
    };
    process.clock.after(silenceMs, () => watch(0));
  };
  connect();
}
