import type { Response } from 'express';
import { type EventStream, openEventStream, createUnreadBudget, maxUnreadInAll } from './sse.ts';

export interface StreamTerms {
  readonly pingMs: number;
  /** The event that is sent as a ping, for clients that ignore comments. If absent, the ping is a comment. */
  readonly ping?: unknown;
  /** The token whose limit this stream counts towards. Absent for clients that never have more than one stream. */
  readonly holder?: string;
  /**
   * Returns true if the client may still read the stream. Called with every ping and every `recheck`. If absent, the client is
   * always allowed.
   */
  readonly isAllowed?: () => boolean;
}

/** All open streams. A stream ends when its socket is closed or its client loses the permission. */
export interface StreamRegistry {
  open(response: Response, terms: StreamTerms): EventStream;
  /** Returns true if the holder may open another stream. */
  hasRoom(holder: string): boolean;
  /** Ends the streams of clients that have lost the permission to read them. */
  recheck(): void;
  /** Ends the streams whose response is selected. */
  endMatching(which: (response: Response) => boolean): void;
}

interface OpenStream extends Pick<StreamTerms, 'ping' | 'isAllowed'> {
  readonly stream: EventStream;
}

/** Limit per holder: enough for a few browsers and scripts. Each stream needs a connection, and work for every event. */
const maxStreams = 100;

export function createStreamRegistry(maxUnreadBytes = maxUnreadInAll): StreamRegistry {
  const budget = createUnreadBudget(maxUnreadBytes);
  const streams = new Map<Response, OpenStream>();
  const counts = new Map<string, number>();
  const count = (holder: string | undefined, more: 1 | -1): void => {
    if (holder === undefined) return;
    const next = (counts.get(holder) ?? 0) + more;
    if (next === 0) counts.delete(holder);
    else counts.set(holder, next);
  };
  return {
    open(response, { pingMs, ping, holder, isAllowed }) {
      const stream = openEventStream(response, budget);
      const openStream = { stream, ping, isAllowed };
      // Each stream has its own timer, so that the pings of many streams do not coincide.
      const pings = setInterval(sendPing, pingMs, openStream).unref();
      streams.set(response, openStream);
      count(holder, 1);
      releaseRequestData(response, isAllowed !== undefined);
      response.on('close', () => {
        clearInterval(pings);
        streams.delete(response);
        count(holder, -1);
      });
      return stream;
    },
    hasRoom: holder => (counts.get(holder) ?? 0) < maxStreams,
    recheck() {
      for (const openStream of streams.values()) endIfForbidden(openStream);
    },
    endMatching(which) {
      for (const [response, { stream }] of streams) if (which(response)) stream.end();
    },
  };
}

function endIfForbidden({ stream, isAllowed }: OpenStream): boolean {
  if (isAllowed === undefined || isAllowed()) return true;
  stream.end();
  return false;
}

function sendPing(openStream: OpenStream): void {
  if (!endIfForbidden(openStream)) return;
  if (openStream.ping === undefined) openStream.stream.comment('ping');
  else openStream.stream.send(openStream.ping);
}

const nothing = Object.freeze({});

/**
 * Releases the data of routing and authentication, which Express would keep as long as the stream, for hours. The headers are
 * kept if `isAllowed` authenticates the client again.
 */
function releaseRequestData(response: Response, isRechecked: boolean): void {
  const { req } = response;
  req.next = undefined;
  req.params = nothing;
  if (isRechecked) return;
  req.rawHeaders = [];
  req.headers = nothing;
}
