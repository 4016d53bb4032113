import { eventsApi } from '../../protocol/admin-api.ts';
import { type CallFailure, type Client, urlOf } from '../../protocol/client.ts';
import { UiEvent } from '../../protocol/events.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { createCatchUp } from '../state/catch-up.ts';
import type { FleetStore } from '../state/store.ts';
import { isForbidden, isSignedOut } from './client.ts';
import { type May, type Person, personOf } from './person.ts';
import { readFleet } from './read-fleet.ts';
import type { OpenStream, StreamNews } from './stream/news.ts';

export interface FollowParts {
  readonly client: Client;
  readonly baseUrl: string;
  readonly store: FleetStore;
  /** What else than the stream may be read. */
  readonly may: May;
  readonly openStream: OpenStream;
  /** Who is signed in by now; null for nobody. */
  readonly onPerson: (now: Person | null) => void;
}

/** Events that come together are shown together: the first one at once, those that follow it so much later. */
const batchMs = 50;
const retryMs = 2_000;

/**
 * Keeps the store as the server is: the stream first, then what there is, then what the stream brought since. Whenever the
 * stream opens anew, and after a gap, all is read again. The answer ends it.
 */
export function followFleet(parts: FollowParts): () => void {
  const { client, baseUrl, store, may, openStream, onPerson } = parts;
  const over = new AbortController();
  const catchUp = createCatchUp(store);
  let reading = new AbortController();
  let flushing: ReturnType<typeof setTimeout> | undefined;
  let nextFlushAt = 0;
  let retrying: ReturnType<typeof setTimeout> | undefined;

  const stopReading = (): void => {
    reading.abort();
    clearTimeout(retrying);
    catchUp.begin();
  };
  const goStale = (): void => {
    stopReading();
    if (store.getState().stream.kind !== 'stale')
      store.setState({ stream: { kind: 'stale', since: Date.now() } });
  };
  const flush = (): void => {
    flushing = undefined;
    nextFlushAt = performance.now() + batchMs;
    if (catchUp.flush()) return;
    goStale();
    void read();
  };
  const read = async (): Promise<void> => {
    stopReading();
    reading = new AbortController();
    const { signal } = reading;
    const failure = await readFleet({
      client,
      may,
      signal,
      onFirst(snapshot) {
        catchUp.first(snapshot);
        flush();
      },
      onMore: page => catchUp.more(page),
    });
    if (signal.aborted) return;
    if (failure === null) catchUp.whole();
    else retryUnlessSignedOut(failure);
  };
  const retryUnlessSignedOut = (failure: CallFailure): void => {
    if (isSignedOut(failure)) return onPerson(null);
    if (isForbidden(failure)) void askWhoWeAre();
    goStale();
    retrying = setTimeout(() => void read(), retryMs);
    return undefined;
  };
  const askWhoWeAre = async (): Promise<void> => {
    const answer = await client.call(sessionApi.get, { signal: over.signal });
    if (!over.signal.aborted && answer.ok) onPerson(personOf(answer.value));
  };
  const take = (data: string): void => {
    const event = UiEvent.safeParse(JSON.parse(data));
    // One of a later version is not for this page; the gap that it leaves is read anew.
    if (!event.success) return;
    catchUp.take(event.data);
    flushing ??= setTimeout(flush, Math.max(0, nextFlushAt - performance.now()));
  };
  const hear = (news: StreamNews): void => {
    if (over.signal.aborted) return undefined;
    if (news.kind === 'frame') return take(news.data);
    if (news.kind === 'open') {
      // Meanwhile another tab may have signed out, and somebody else in.
      if (store.getState().stream.kind === 'stale') void askWhoWeAre();
      return void read();
    }
    goStale();
    return news.kind === 'refused' ? void askWhoWeAre() : undefined;
  };

  const close = openStream(urlOf(baseUrl, eventsApi.stream.path, {}, { pings: true }).href, hear);
  return () => {
    over.abort();
    close();
    stopReading();
    clearTimeout(flushing);
  };
}
