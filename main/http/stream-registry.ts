import type { Response } from 'express';
import { type EventStream, openEventStream } from './sse.ts';

export interface Ping {
  readonly pingMs: number;
  /** Sent as an event, for readers that see events only; left out, a comment is sent. */
  readonly ping?: unknown;
}

/** All streams that are open, so that they can be ended with the socket they came by. */
export interface StreamRegistry {
  open(response: Response, ping: Ping): EventStream;
  endThose(which: (response: Response) => boolean): void;
}

export function createStreamRegistry(): StreamRegistry {
  const streams = new Map<Response, EventStream>();
  return {
    open(response, { pingMs, ping }) {
      const stream = openEventStream(response);
      const timer = setInterval(
        () => (ping === undefined ? stream.comment('ping') : stream.send(ping)),
        pingMs,
      );
      streams.set(response, stream);
      response.on('close', () => {
        clearInterval(timer);
        streams.delete(response);
      });
      return stream;
    },
    endThose(which) {
      for (const [response, stream] of streams) if (which(response)) stream.end();
    },
  };
}
