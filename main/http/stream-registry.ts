import type { Response } from 'express';
import { type EventStream, openEventStream } from './sse.ts';

export interface Ping {
  readonly pingMs: number;
  /** Sent as an event, for readers that see events only; left out, a comment is sent. */
  readonly ping?: unknown;
}

/** All streams that are open, so that they can be ended with the socket they came by. */
export interface StreamRegistry {
  /** `session`: the token of the one that a browser came with. */
  open(response: Response, ping: Ping, session?: string | null): EventStream;
  /** Ends those that were opened with it. */
  endOf(session: string): void;
  endThose(which: (response: Response) => boolean): void;
}

export function createStreamRegistry(): StreamRegistry {
  const streams = new Map<Response, { readonly stream: EventStream; readonly session: string | null }>();
  return {
    open(response, { pingMs, ping }, session = null) {
      const stream = openEventStream(response);
      const timer = setInterval(
        () => (ping === undefined ? stream.comment('ping') : stream.send(ping)),
        pingMs,
      );
      streams.set(response, { stream, session });
      response.on('close', () => {
        clearInterval(timer);
        streams.delete(response);
      });
      return stream;
    },
    endOf(session) {
      for (const { stream, session: openedWith } of streams.values()) if (openedWith === session) stream.end();
    },
    endThose(which) {
      for (const [response, { stream }] of streams) if (which(response)) stream.end();
    },
  };
}
