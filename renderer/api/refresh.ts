import type { Client } from '../../protocol/client.ts';
import { WorkerId } from '../../protocol/ids.ts';
import { refreshed } from '../state/fleet.ts';
import { clockLead, sampled } from '../state/loads.ts';
import type { FleetStore } from '../state/store.ts';
import { readWorkers } from './lists.ts';

const everyMs = 10_000;
/** After something happened: time for what belongs together. */
const soonMs = 300;
/** Between two rounds. */
const leastRestMs = 1_000;
/** What is read at once: more would hold up whoever scrolls, and the server with all that it does. */
const pageSize = 250;
/** The pause after a page grows with it: 5,000 workers are read in ten seconds. */
const restMs = (workers: number): number => workers * 2;

/** Whether somebody looks at this page of the browser. */
export interface Sight {
  isSeen(): boolean;
  /** The answer ends it. */
  onChange(run: () => void): () => void;
}

/**
 * Reads the workers again page by page, a round every ten seconds, and soon after something happened, as long as somebody
 * looks: beats come with no event. The answer ends it.
 */
export function refreshWorkers(client: Client, store: FleetStore, sight: Sight): () => void {
  const over = new AbortController();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let dueAt = Number.POSITIVE_INFINITY;
  let restUntil = 0;
  /** Where the round goes on; null at its beginning. */
  let after: WorkerId | null = null;
  let roundAt = 0;
  /** Of what happens during a round, the pages before may know nothing. */
  let isNewsWaiting = false;

  const plan = (at: number): void => {
    const next = Math.max(at, restUntil);
    if (over.signal.aborted || next >= dueAt) return;
    if (timer !== null) clearTimeout(timer);
    dueAt = next;
    timer = setTimeout(() => void read(), Math.max(0, next - Date.now()));
  };
  const readPage = async (): Promise<number> => {
    if (after === null) {
      roundAt = Date.now();
      isNewsWaiting = false;
    }
    const list = await readWorkers(
      client,
      { limit: pageSize, ...(after === null ? {} : { cursor: after }) },
      over.signal,
    );
    const now = Date.now();
    if (over.signal.aborted) return now;
    if (!list.ok) {
      after = null;
      return now + everyMs;
    }
    const { rows: workers, seq, next } = list;
    store.setState(({ fleet, loads, clockLeadMs }) => ({
      fleet: refreshed(fleet, { workers, seq }),
      loads: sampled(loads, workers, fleet.workers, now),
      clockLeadMs: clockLead(workers, now) ?? clockLeadMs,
    }));
    after = next === null ? null : WorkerId.parse(next);
    if (after !== null) return now + restMs(workers.length);
    restUntil = now + leastRestMs;
    return isNewsWaiting ? restUntil : roundAt + everyMs;
  };
  const read = async (): Promise<void> => {
    const isWatched = sight.isSeen() && store.getState().fleet.seq >= 0;
    // Who looks again wants to see what is so then, from the first one on.
    if (!isWatched) after = null;
    const next = isWatched ? await readPage() : Date.now() + everyMs;
    dueAt = Number.POSITIVE_INFINITY;
    plan(next);
  };
  const soon = (): void => {
    isNewsWaiting = true;
    // A round that has begun goes on in its own time.
    if (after === null) plan(Date.now() + soonMs);
  };
  const stopListening = store.subscribe((state, before) => {
    if (state.fleet.recent !== before.fleet.recent) soon();
  });
  const stopWatching = sight.onChange(soon);
  soon();
  return () => {
    over.abort();
    stopListening();
    stopWatching();
    if (timer !== null) clearTimeout(timer);
  };
}
