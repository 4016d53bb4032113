import type { Response } from 'express';
import { type EventStream, openEventStream } from './sse.ts';

export interface StreamTerms {
  readonly pingMs: number;
  /** Sent as an event, for readers that see events only; left out, a comment is sent. */
  readonly ping?: unknown;
  /** Whose stream it is; left out where there is never more than one. */
  readonly holder?: string;
  /** Whether its reader may still look: asked with every ping, and with every `recheck`. */
  readonly isAllowed?: () => boolean;
}

/** All streams that are open, so that they can be ended with the socket they came by, or with the right to read them. */
export interface StreamRegistry {
  open(response: Response, terms: StreamTerms): EventStream;
  /** Whether one holder may have another one. */
  hasRoom(holder: string): boolean;
  /** Ends those whose readers may look no longer. */
  recheck(): void;
  endThose(which: (response: Response) => boolean): void;
}

interface Held {
  readonly stream: EventStream;
  readonly isAllowed: () => boolean;
}

/** Of one holder: a few browsers and scripts. Each costs a connection, and work with every event. */
const mostStreams = 100;

export function createStreamRegistry(): StreamRegistry {
  const streams = new Map<Response, Held>();
  const counts = new Map<string, number>();
  const count = (holder: string | undefined, more: 1 | -1): void => {
    if (holder === undefined) return;
    const next = (counts.get(holder) ?? 0) + more;
    if (next === 0) counts.delete(holder);
    else counts.set(holder, next);
  };
  const look = ({ stream, isAllowed }: Held): boolean => {
    if (isAllowed()) return true;
    stream.end();
    return false;
  };
  return {
    open(response, { pingMs, ping, holder, isAllowed = () => true }) {
      const stream = openEventStream(response);
      const held = { stream, isAllowed };
      const timer = setInterval(() => {
        if (!look(held)) return;
        if (ping === undefined) stream.comment('ping');
        else stream.send(ping);
      }, pingMs);
      streams.set(response, held);
      count(holder, 1);
      response.once('close', () => {
        clearInterval(timer);
        streams.delete(response);
        count(holder, -1);
      });
      return stream;
    },
    hasRoom: holder => (counts.get(holder) ?? 0) < mostStreams,
    recheck() {
      for (const held of streams.values()) look(held);
    },
    endThose(which) {
      for (const [response, { stream }] of streams) if (which(response)) stream.end();
    },
  };
}
