import type { Client } from '../../protocol/client.ts';
import { WorkerId } from '../../protocol/ids.ts';
import { type Fleet, listed, refreshed, type WorkersRead } from '../state/fleet.ts';
import { clockLead, sampled } from '../state/loads.ts';
import type { FleetState, FleetStore, StreamState } from '../state/store.ts';
import { readWorkers } from './lists.ts';

const everyMs = 10_000;
/** After something happened: time for what belongs together. */
const soonMs = 300;
/** Between two rounds, and for a whole list by its length: 5,000 workers are read every ten seconds, one way or the other. */
const restMs = (workers: number): number => Math.max(1_000, workers * 2);
/** What is read at once, where it can be chosen: more would hold up whoever scrolls, and the server with all that it does. */
const pageSize = 250;
/** Between two pages. */
const pageRestMs = (workers: number): number => workers * 2;

export interface ReadParts {
  readonly client: Client;
  readonly store: FleetStore;
  /** The document: nothing is read while nobody sees it. */
  readonly page: EventTarget & { readonly visibilityState: string };
}

/** How a list that is read again and again becomes what is shown. */
interface Way {
  readonly isBegun: (state: FleetState) => boolean;
  /** Page by page, or as a whole: only that says who is gone. */
  readonly isPaged: boolean;
  readonly merge: (fleet: Fleet, read: WorkersRead) => Fleet;
  /** Something has happened that the list may tell of. */
  readonly isNews: (now: FleetState, before: FleetState) => boolean;
  /** What the badge says after a list has come, or has not; null where that is not for the list to say. */
  readonly stream: ((isRead: boolean, was: StreamState) => StreamState) | null;
}

/**
 * Reads the workers again page by page, a round every ten seconds, and soon after something happened, as long as somebody
 * looks: beats come with no event. The answer ends it.
 */
export const refreshWorkers = (parts: ReadParts): (() => void) =>
  keepReading(parts, {
    isBegun: ({ fleet }) => fleet.seq >= 0,
    isPaged: true,
    merge: refreshed,
    isNews: (now, before) => now.fleet.recent !== before.fleet.recent,
    stream: null,
  });

/** For who may see the workers and not the stream: all that is known of them is what the list says. The answer ends it. */
export const pollWorkers = (parts: ReadParts): (() => void) =>
  keepReading(parts, {
    isBegun: () => true,
    isPaged: false,
    merge: listed,
    isNews: (now, before) => now.acted !== before.acted,
    stream(isRead, was) {
      if (isRead) return was.kind === 'polled' ? was : { kind: 'polled' };
      return was.kind === 'stale' ? was : { kind: 'stale', since: Date.now() };
    },
  });

function keepReading({ client, store, page }: ReadParts, way: Way): () => void {
  const over = new AbortController();
  const round = createRound({ client, store, signal: over.signal }, way);
  let timer: ReturnType<typeof setTimeout> | null = null;
  let dueAt = Number.POSITIVE_INFINITY;

  const plan = (at: number): void => {
    const next = Math.max(at, round.restUntil());
    if (over.signal.aborted || next >= dueAt) return;
    if (timer !== null) clearTimeout(timer);
    dueAt = next;
    timer = setTimeout(() => void read(), Math.max(0, next - Date.now()));
  };
  const read = async (): Promise<void> => {
    const isWatched = page.visibilityState === 'visible' && way.isBegun(store.getState());
    // Who looks again wants to see what is so then, from the first one on.
    if (!isWatched) round.giveUp();
    const next = isWatched ? await round.goOn() : Date.now() + everyMs;
    dueAt = Number.POSITIVE_INFINITY;
    plan(next);
  };
  const soon = (): void => {
    round.note();
    // One that has begun goes on in its own time.
    if (!round.isBegun()) plan(Date.now() + soonMs);
  };
  const stopListening = store.subscribe((state, before) => {
    if (way.isNews(state, before)) soon();
  });
  page.addEventListener('visibilitychange', soon);
  soon();
  return () => {
    over.abort();
    stopListening();
    page.removeEventListener('visibilitychange', soon);
    if (timer !== null) clearTimeout(timer);
  };
}

interface RoundParts extends Omit<ReadParts, 'page'> {
  readonly signal: AbortSignal;
}

/** All workers, read once, in one part or in several. */
function createRound({ client, store, signal }: RoundParts, way: Way) {
  /** Where it goes on; null at its beginning. */
  let after: WorkerId | null = null;
  let beganAt = 0;
  let restUntil = 0;
  /** Of what happens during a round, the pages before may know nothing. */
  let isNewsWaiting = false;

  /** When there is more to be read. */
  const take = (workers: WorkersRead['workers'], seq: number, next: string | null): number => {
    const now = Date.now();
    store.setState(({ fleet, loads, clockLeadMs }) => {
      const merged = way.merge(fleet, { workers, seq });
      return {
        fleet: merged,
        loads: sampled(loads, workers, merged.workers, now),
        clockLeadMs: clockLead(workers, now) ?? clockLeadMs,
      };
    });
    after = next === null ? null : WorkerId.parse(next);
    if (after !== null) return now + pageRestMs(workers.length);
    restUntil = now + (way.isPaged ? restMs(0) : restMs(workers.length));
    return isNewsWaiting ? now + soonMs : beganAt + everyMs;
  };
  return {
    isBegun: (): boolean => after !== null,
    restUntil: (): number => restUntil,
    note(): void {
      isNewsWaiting = true;
    },
    giveUp(): void {
      after = null;
    },
    /** Reads the next part; says when there is more to be read. */
    async goOn(): Promise<number> {
      if (after === null) {
        beganAt = Date.now();
        isNewsWaiting = false;
      }
      const from = after === null ? {} : { cursor: after };
      const list = await readWorkers(client, way.isPaged ? { limit: pageSize, ...from } : {}, signal);
      if (signal.aborted) return Number.POSITIVE_INFINITY;
      const { stream: streamAfter } = way;
      if (streamAfter !== null) store.setState(({ stream }) => ({ stream: streamAfter(list.ok, stream) }));
      if (list.ok) return take(list.rows, list.seq, list.next);
      after = null;
      return Date.now() + everyMs;
    },
  };
}
