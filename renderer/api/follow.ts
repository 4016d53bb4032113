import { eventsApi } from '../../protocol/admin-api.ts';
import { type CallFailure, type Client, urlOf } from '../../protocol/client.ts';
import { UiEvent } from '../../protocol/events.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { createCatchUp } from '../state/catch-up.ts';
import type { FleetStore } from '../state/stores.ts';
import { isForbidden, isSignedOut, type May, type Person, toPerson } from './session.ts';
import { readFleet } from './read-fleet.ts';
import type { OpenStream, StreamMessage } from './stream/own.ts';

export interface FollowDeps {
  readonly client: Client;
  readonly baseUrl: string;
  readonly store: FleetStore;
  /** Returns whether the signed-in user may make a call. */
  readonly may: May;
  readonly openStream: OpenStream;
  /** Called with the signed-in user when that user changes; null when nobody is signed in. */
  readonly onPerson: (now: Person | null) => void;
}

/** The first event is shown immediately; events that arrive within this time after it are shown together. */
const batchMs = 50;
const retryMs = 2_000;

/**
 * Keeps the store in sync with the server: opens the stream, reads the current state, then applies all events since.
 * Reads everything again whenever the stream reopens or events are missing. The returned function stops the
 * synchronization.
 */
export function followFleet(deps: FollowDeps): () => void {
  const { client, baseUrl, store, may, openStream, onPerson } = deps;
  const controller = new AbortController();
  const catchUp = createCatchUp(store);
  let reading = new AbortController();
  let flushing: ReturnType<typeof setTimeout> | undefined;
  let nextFlushAt = 0;
  let retrying: ReturnType<typeof setTimeout> | undefined;

  const stopReading = (): void => {
    reading.abort();
    clearTimeout(retrying);
    catchUp.reset();
  };
  const goStale = (): void => {
    stopReading();
    if (store.getState().stream.kind !== 'stale')
      store.setState({ stream: { kind: 'stale', since: Date.now() } });
  };
  const flush = (): void => {
    flushing = undefined;
    nextFlushAt = performance.now() + batchMs;
    const isComplete = catchUp.flush();
    if (isComplete) return;
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
        catchUp.addSnapshot(snapshot);
        flush();
      },
      onMore: page => catchUp.addPage(page),
    });
    if (signal.aborted) return;
    if (failure === null) catchUp.finish();
    else retryUnlessSignedOut(failure);
  };
  const retryUnlessSignedOut = (failure: CallFailure): void => {
    if (isSignedOut(failure)) return onPerson(null);
    if (isForbidden(failure)) void recheckPerson();
    goStale();
    retrying = setTimeout(() => void read(), retryMs);
    return undefined;
  };
  const recheckPerson = async (): Promise<void> => {
    const answer = await client.call(sessionApi.get, { signal: controller.signal });
    if (!controller.signal.aborted && answer.ok) onPerson(toPerson(answer.value));
  };
  const enqueue = (data: string): void => {
    const event = UiEvent.safeParse(JSON.parse(data));
    // Ignore event kinds that only newer servers send. The gap in the numbers then triggers a full read.
    if (!event.success) return;
    catchUp.enqueue(event.data);
    flushing ??= setTimeout(flush, Math.max(0, nextFlushAt - performance.now()));
  };
  const onMessage = (message: StreamMessage): void => {
    if (controller.signal.aborted) return undefined;
    if (message.kind === 'frame') return enqueue(message.data);
    if (message.kind === 'open') {
      // While the stream was down, another tab may have changed the signed-in user.
      if (store.getState().stream.kind === 'stale') void recheckPerson();
      return void read();
    }
    goStale();
    return message.kind === 'refused' ? void recheckPerson() : undefined;
  };

  const close = openStream(urlOf(baseUrl, eventsApi.stream.path, {}, { pings: true }).href, onMessage);
  return () => {
    controller.abort();
    close();
    stopReading();
    clearTimeout(flushing);
  };
}
