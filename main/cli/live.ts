import { setTimeout as pause } from 'node:timers/promises';
import type { UiEvent } from '../../protocol/events.ts';
import { type FeedAddress, FeedRefused, openEvents } from './event-feed.ts';
import { CommandEnd, exitCodes, failureOf, reasonOf } from './failure.ts';
import type { Remote } from './remote.ts';

/**
 * Follows one event stream until the result is known. Resolves to the result; null if the stream ended first. A session reads
 * the current state before the events, because it may run again on a new stream.
 */
export type Session<T> = (events: AsyncIterable<UiEvent>) => Promise<T | null>;

const pausesMs = [500, 1_000, 2_000, 4_000, 8_000] as const;

/**
 * Runs sessions until one returns a result. Each new stream resumes after the last event, so a command survives lost
 * connections and restarts of the orchestrator. A refusal ends the command. `after` is the number of the last known event; with
 * null, the stream starts with the next new event.
 */
export function live<T>(remote: Remote, session: Session<T>, after: number | null = null): Promise<T> {
  const feed: Feed = { after };
  return persist(remote, async onReached => {
    const result = await runSession(remote, session, feed, onReached);
    if (result !== null) return result;
    throw new FeedLost('it ended the event stream');
  });
}

/**
 * Retries `act` while it fails because of the connection. Reports the lost connection only once. `act` must call `onReached` as
 * soon as the orchestrator answers.
 */
export async function persist<T>(remote: Remote, act: (onReached: () => void) => Promise<T>): Promise<T> {
  let isLost = false;
  let consecutiveFailures = 0;
  const onReached = (): void => {
    if (isLost) report(remote, `Reconnected to ${remote.connection().url}`);
    isLost = false;
    consecutiveFailures = 0;
  };
  for (;;) {
    try {
      return await act(onReached);
    } catch (cause) {
      const reason = lossReason(cause);
      if (!isLost)
        report(remote, `Lost the connection to ${remote.connection().url}: ${reason}. Reconnecting`);
      isLost = true;
    }
    await pause(pausesMs[Math.min(consecutiveFailures, pausesMs.length - 1)]);
    consecutiveFailures += 1;
    remote.locate();
  }
}

interface Feed {
  after: number | null;
}

/** The connection to the orchestrator broke, or the server ended the stream. */
export class FeedLost extends Error {
  override readonly name = 'FeedLost';
}

async function runSession<T>(
  remote: Remote,
  session: Session<T>,
  feed: Feed,
  onReached: () => void,
): Promise<T | null> {
  const controller = new AbortController();
  try {
    const { url, token } = remote.connection();
    return await session(
      track(
        await open({ url, token, fetch: remote.fetch, signal: controller.signal, after: feed.after }),
        feed,
        onReached,
      ),
    );
  } finally {
    controller.abort();
  }
}

async function open(address: FeedAddress) {
  try {
    return await openEvents(address);
  } catch (cause) {
    if (cause instanceof FeedRefused) throw new CommandEnd(failureOf(cause.failure, address.url));
    throw new FeedLost(reasonOf(cause), { cause });
  }
}

/** Yields the events, and stores the number of the last one, from which the next stream resumes. */
async function* track(
  events: AsyncIterable<UiEvent>,
  feed: Feed,
  onReached: () => void,
): AsyncGenerator<UiEvent> {
  onReached();
  try {
    for await (const event of events) {
      feed.after = event.seq;
      yield event;
    }
  } catch (cause) {
    throw new FeedLost('the connection broke', { cause });
  }
}

/** Prints a message on a separate line, even while a progress bar occupies the current line. */
function report({ terminal }: Remote, message: string): void {
  terminal.err(`${terminal.errScreen() === null ? '' : '\r\u001b[2K'}${message}\n`);
}

/** Returns the text for a lost connection. Rethrows any other error. */
function lossReason(cause: unknown): string {
  if (cause instanceof FeedLost) return cause.message;
  if (cause instanceof CommandEnd && cause.failure.code === exitCodes.unreachable)
    return cause.failure.message;
  throw cause;
}
