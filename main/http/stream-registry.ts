import type { Response } from 'express';
import { createRounds, type Rounds } from './rounds.ts';
import { type EventStream, openEventStream } from './sse.ts';
import { createUnreadBudget, mostUnreadInAll } from './unread-budget.ts';

export interface StreamTerms {
  readonly pingMs: number;
  /** Sent as an event, for readers that see events only; left out, a comment is sent. */
  readonly ping?: unknown;
  /** Whose stream it is; left out where there is never more than one. */
  readonly holder?: string;
  /** Whether its reader may still look: asked with every ping, and with every `recheck`. Left out, nobody asks who called. */
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

interface Held extends Pick<StreamTerms, 'ping' | 'isAllowed'> {
  readonly stream: EventStream;
}

/** Of one holder: a few browsers and scripts. Each costs a connection, and work with every event. */
const mostStreams = 100;

export function createStreamRegistry(mostUnreadBytes = mostUnreadInAll): StreamRegistry {
  const budget = createUnreadBudget(mostUnreadBytes);
  const streams = new Map<Response, Held>();
  const counts = new Map<string, number>();
  const rounds = new Map<number, Rounds<Held>>();
  const roundsOf = (pingMs: number): Rounds<Held> => {
    const found = rounds.get(pingMs) ?? createRounds(pingMs, sendPing);
    rounds.set(pingMs, found);
    return found;
  };
  const count = (holder: string | undefined, more: 1 | -1): void => {
    if (holder === undefined) return;
    const next = (counts.get(holder) ?? 0) + more;
    if (next === 0) counts.delete(holder);
    else counts.set(holder, next);
  };
  return {
    open(response, { pingMs, ping, holder, isAllowed }) {
      const stream = openEventStream(response, budget);
      const held = { stream, ping, isAllowed };
      const turn = roundsOf(pingMs).join(held);
      streams.set(response, held);
      count(holder, 1);
      letGo(response, isAllowed !== undefined);
      response.on('close', () => {
        turn.delete(held);
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

function look({ stream, isAllowed }: Held): boolean {
  if (isAllowed === undefined || isAllowed()) return true;
  stream.end();
  return false;
}

function sendPing(held: Held): void {
  if (!look(held)) return;
  if (held.ping === undefined) held.stream.comment('ping');
  else held.stream.send(held.ping);
}

const nothing = Object.freeze({});

/**
 * What was needed to find out who answers, and how: Express keeps it with the call, and so with a stream, for hours. Who called is
 * kept if that is asked again.
 */
function letGo(response: Response, isAskedAgain: boolean): void {
  const { req } = response;
  req.next = undefined;
  req.params = nothing;
  if (isAskedAgain) return;
  req.rawHeaders = [];
  req.headers = nothing;
}
