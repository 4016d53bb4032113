import type { Response } from 'express';
import { type EventStream, openEventStream } from './sse.ts';

export interface Ping {
  readonly pingMs: number;
  /** Sent as an event, for readers that see events only; left out, a comment is sent. */
  readonly ping?: unknown;
}

/** All streams that are open, so that they can be ended together. */
export interface StreamRegistry {
  open(response: Response, ping: Ping): EventStream;
  endAll(): void;
}

export function createStreamRegistry(): StreamRegistry {
  const streams = new Set<EventStream>();
  return {
    open(response, { pingMs, ping }) {
      const stream = openEventStream(response);
      const timer = setInterval(
        () => (ping === undefined ? stream.comment('ping') : stream.send(ping)),
        pingMs,
      );
      streams.add(stream);
      response.on('close', () => {
        clearInterval(timer);
        streams.delete(stream);
      });
      return stream;
    },
    endAll() {
      for (const stream of streams) stream.end();
    },
  };
}
