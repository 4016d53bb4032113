import type { Client } from '../../protocol/client.ts';
import { WorkerId } from '../../protocol/ids.ts';
import { type Fleet, withListedWorkers, withRefreshedWorkers, type WorkersRead } from '../state/fleet.ts';
import { clockLead, withSamples } from '../state/sparklines.ts';
import type { FleetState, FleetStore, StreamState } from '../state/stores.ts';
import { readWorkers } from './read-fleet.ts';

/** Time between the starts of two rounds. A round reads all workers once. */
const roundMs = 10_000;
/** Delay after an event, so that related changes are read together. */
const soonMs = 300;
/** Minimum pause between two rounds. */
const minRestMs = 1_000;
/** Pause after a read of the whole list, in milliseconds. With 5,000 workers, the pause is as long as a round. */
const restMs = (workers: number): number => Math.max(minRestMs, workers * 2);
/** Workers per page. Larger pages would block scrolling in the browser and other requests in the server. */
const pageSize = 250;
/** Pause between two pages, in milliseconds. */
const pageRestMs = (workers: number): number => workers * 2;

export interface ReadOptions {
  readonly client: Client;
  readonly store: FleetStore;
  /** The document. Nothing is read while it is hidden. */
  readonly page: EventTarget & { readonly visibilityState: string };
}

/** Determines how the list of workers is read and merged into the store. */
interface ListMode {
  readonly isReady: (state: FleetState) => boolean;
  /** True to read the list page by page. False to read it whole, which is necessary to notice deleted workers. */
  readonly isPaged: boolean;
  readonly merge: (fleet: Fleet, read: WorkersRead) => Fleet;
  /** Returns true when the state changed in a way that suggests changes of the list. */
  readonly suggestsChange: (now: FleetState, before: FleetState) => boolean;
  /** Returns the stream state after a read. Null when the event stream itself determines that state. */
  readonly streamStateAfter: ((isRead: boolean, was: StreamState) => StreamState) | null;
}

/**
 * Keeps the load and last contact of workers current, because heartbeats cause no events. While the page is visible,
 * reads all workers page by page every ten seconds, and soon after each event. The returned function stops the reads.
 */
export const refreshWorkers = (options: ReadOptions): (() => void) =>
  keepReading(options, {
    isReady: ({ fleet }) => fleet.seq >= 0,
    isPaged: true,
    merge: withRefreshedWorkers,
    suggestsChange: (now, before) => now.fleet.recent !== before.fleet.recent,
    streamStateAfter: null,
  });

/**
 * Reads the list of workers repeatedly, for users who may not read the event stream and have no other source. The
 * returned function stops the reads.
 */
export const pollWorkers = (options: ReadOptions): (() => void) =>
  keepReading(options, {
    isReady: () => true,
    isPaged: false,
    merge: withListedWorkers,
    suggestsChange: (now, before) => now.acted !== before.acted,
    streamStateAfter(isRead, was) {
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
    // After the page was hidden, start again with the first page, because all earlier pages are old.
    if (!isWatched) round.reset();
    const next = isWatched ? await round.readNext() : Date.now() + roundMs;
    dueAt = Number.POSITIVE_INFINITY;
    plan(next);
  };
  const readSoon = (): void => {
    round.noteEvent();
    // A round in progress continues on its own schedule; `noteEvent` makes the next round follow soon.
    if (!round.isRunning()) plan(Date.now() + soonMs);
  };
  const stopListening = store.subscribe((state, before) => {
    if (mode.suggestsChange(state, before)) readSoon();
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

/** Creates the state of the current round. A round reads all workers once, in one or several pages. */
function createRound({ client, store, signal }: RoundDeps, mode: ListMode) {
  /** Cursor of the next page; null at the start of a round. */
  let cursor: WorkerId | null = null;
  let startedAt = 0;
  let restUntil = 0;
  /** True when an event occurred after this round began, so the first pages of the round may be outdated. */
  let hasNewEvent = false;

  /** Merges a page into the store; returns the time of the next read. */
  const mergePage = (workers: WorkersRead['workers'], seq: number, next: string | null): number => {
    const now = Date.now();
    store.setState(({ fleet, loads, clockLeadMs }) => {
      const merged = mode.merge(fleet, { workers, seq });
      return {
        fleet: merged,
        loads: withSamples(loads, workers, merged.workers, now),
        clockLeadMs: clockLead(workers, now) ?? clockLeadMs,
      };
    });
    cursor = next === null ? null : WorkerId.parse(next);
    if (cursor !== null) return now + pageRestMs(workers.length);
    restUntil = now + (mode.isPaged ? minRestMs : restMs(workers.length));
    return hasNewEvent ? now + soonMs : startedAt + roundMs;
  };
  return {
    isRunning: (): boolean => cursor !== null,
    restUntil: (): number => restUntil,
    noteEvent(): void {
      hasNewEvent = true;
    },
    reset(): void {
      cursor = null;
    },
    /** Reads the next page, or the whole list; returns the time of the next read. */
    async readNext(): Promise<number> {
      if (cursor === null) {
        startedAt = Date.now();
        hasNewEvent = false;
      }
      const page = { limit: pageSize, ...(cursor === null ? {} : { cursor }) };
      const list = await readWorkers(client, mode.isPaged ? page : {}, signal);
      if (signal.aborted) return Number.POSITIVE_INFINITY;
      const { streamStateAfter } = mode;
      if (streamStateAfter !== null)
        store.setState(({ stream }) => ({ stream: streamStateAfter(list.ok, stream) }));
      if (list.ok) return mergePage(list.rows, list.seq, list.next);
      cursor = null;
      return Date.now() + roundMs;
    },
  };
}
