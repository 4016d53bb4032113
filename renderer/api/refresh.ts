import type { Client } from '../../protocol/client.ts';
import { WorkerId } from '../../protocol/ids.ts';
import { type Fleet, listed, refreshed, type WorkersRead } from '../state/fleet.ts';
import { clockLead, sampled } from '../state/sparklines.ts';
import type { FleetState, FleetStore, StreamState } from '../state/stores.ts';
import { readWorkers } from './read-fleet.ts';

const roundMs = 10_000;
/** Delay after an event, so that related changes are read together. */
const soonMs = 300;
/** Pause between two rounds, and for unpaged lists proportional to their length. Either way, 5,000 workers are read every ten seconds. */
const restMs = (workers: number): number => Math.max(1_000, workers * 2);
/** Page size where pages are possible. Larger pages would block scrolling, and all other work of the server. */
const pageSize = 250;
/** Pause between two pages. */
const pageRestMs = (workers: number): number => workers * 2;

export interface ReadOptions {
  readonly client: Client;
  readonly store: FleetStore;
  /** The document. Nothing is read while it is hidden. */
  readonly page: EventTarget & { readonly visibilityState: string };
}

/** How a polled list is merged into the store. */
interface ListMode {
  readonly isReady: (state: FleetState) => boolean;
  /** True to read page by page. False to read the whole list, which alone reveals deleted workers. */
  readonly isPaged: boolean;
  readonly merge: (fleet: Fleet, read: WorkersRead) => Fleet;
  /** Returns true when something happened that may change the list. */
  readonly isNews: (now: FleetState, before: FleetState) => boolean;
  /** Returns the stream state after a read succeeded or failed; null when the list does not determine it. */
  readonly stream: ((isRead: boolean, was: StreamState) => StreamState) | null;
}

/**
 * Reads the workers again page by page: a round every ten seconds, and one soon after each event, while the page is visible. Heartbeats
 * cause no events. The returned function stops it.
 */
export const refreshWorkers = (options: ReadOptions): (() => void) =>
  keepReading(options, {
    isReady: ({ fleet }) => fleet.seq >= 0,
    isPaged: true,
    merge: refreshed,
    isNews: (now, before) => now.fleet.recent !== before.fleet.recent,
    stream: null,
  });

/** For users who may see the workers but not the stream, so that the list is the only source. The returned function stops it. */
export const pollWorkers = (options: ReadOptions): (() => void) =>
  keepReading(options, {
    isReady: () => true,
    isPaged: false,
    merge: listed,
    isNews: (now, before) => now.acted !== before.acted,
    stream(isRead, was) {
      if (isRead) return was.kind === 'polled' ? was : { kind: 'polled' };
      return was.kind === 'stale' ? was : { kind: 'stale', since: Date.now() };
    },
  });

function keepReading({ client, store, page }: ReadOptions, mode: ListMode): () => void {
  const controller = new AbortController();
  const round = createRound({ client, store, signal: controller.signal }, mode);
  let timer: ReturnType<typeof setTimeout> | null = null;
  let dueAt = Number.POSITIVE_INFINITY;

  const plan = (at: number): void => {
    const next = Math.max(at, round.restUntil());
    if (controller.signal.aborted || next >= dueAt) return;
    if (timer !== null) clearTimeout(timer);
    dueAt = next;
    timer = setTimeout(() => void read(), Math.max(0, next - Date.now()));
  };
  const read = async (): Promise<void> => {
    const isWatched = page.visibilityState === 'visible' && mode.isReady(store.getState());
    // Restart from the first page once the page is visible again, so that all data is current.
    if (!isWatched) round.reset();
    const next = isWatched ? await round.readNext() : Date.now() + roundMs;
    dueAt = Number.POSITIVE_INFINITY;
    plan(next);
  };
  const readSoon = (): void => {
    round.noteNews();
    // A running round continues at its own pace.
    if (!round.isRunning()) plan(Date.now() + soonMs);
  };
  const stopListening = store.subscribe((state, before) => {
    if (mode.isNews(state, before)) readSoon();
  });
  page.addEventListener('visibilitychange', readSoon);
  readSoon();
  return () => {
    controller.abort();
    stopListening();
    page.removeEventListener('visibilitychange', readSoon);
    if (timer !== null) clearTimeout(timer);
  };
}

interface RoundDeps extends Omit<ReadOptions, 'page'> {
  readonly signal: AbortSignal;
}

/** Reads all workers once, in one or several parts. */
function createRound({ client, store, signal }: RoundDeps, mode: ListMode) {
  /** Cursor of the next page; null at the start of a round. */
  let after: WorkerId | null = null;
  let startedAt = 0;
  let restUntil = 0;
  /** An event occurred during the round, after earlier pages were read. */
  let hasNews = false;

  /** Returns the time of the next read. */
  const take = (workers: WorkersRead['workers'], seq: number, next: string | null): number => {
    const now = Date.now();
    store.setState(({ fleet, loads, clockLeadMs }) => {
      const merged = mode.merge(fleet, { workers, seq });
      return {
        fleet: merged,
        loads: sampled(loads, workers, merged.workers, now),
        clockLeadMs: clockLead(workers, now) ?? clockLeadMs,
      };
    });
    after = next === null ? null : WorkerId.parse(next);
    if (after !== null) return now + pageRestMs(workers.length);
    restUntil = now + (mode.isPaged ? restMs(0) : restMs(workers.length));
    return hasNews ? now + soonMs : startedAt + roundMs;
  };
  return {
    isRunning: (): boolean => after !== null,
    restUntil: (): number => restUntil,
    noteNews(): void {
      hasNews = true;
    },
    reset(): void {
      after = null;
    },
    /** Reads the next part; returns the time of the next read. */
    async readNext(): Promise<number> {
      if (after === null) {
        startedAt = Date.now();
        hasNews = false;
      }
      const from = after === null ? {} : { cursor: after };
      const list = await readWorkers(client, mode.isPaged ? { limit: pageSize, ...from } : {}, signal);
      if (signal.aborted) return Number.POSITIVE_INFINITY;
      const { stream: streamAfter } = mode;
      if (streamAfter !== null) store.setState(({ stream }) => ({ stream: streamAfter(list.ok, stream) }));
      if (list.ok) return take(list.rows, list.seq, list.next);
      after = null;
      return Date.now() + roundMs;
    },
  };
}
