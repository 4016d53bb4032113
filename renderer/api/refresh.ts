import type { Client } from '../../protocol/client.ts';
import { refreshed } from '../state/fleet.ts';
import { clockLead, sampled } from '../state/loads.ts';
import type { FleetStore } from '../state/store.ts';
import { readWorkers } from './lists.ts';

const everyMs = 10_000;
/** After something happened: time for what belongs together. */
const soonMs = 300;
/** The pause after a list grows with the list: 2 ms a worker, so that 5,000 of them are read every 10 seconds at most. */
const restMs = (workers: number): number => Math.max(1_000, workers * 2);

/**
 * Reads the workers again every ten seconds, and soon after something happened, as long as somebody looks: beats, and the
 * status that follows from a job, come with no event. The answer ends it.
 */
export function refreshWorkers(client: Client, store: FleetStore): () => void {
  const over = new AbortController();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let dueAt = Number.POSITIVE_INFINITY;
  let restUntil = 0;

  const plan = (at: number): void => {
    const next = Math.max(at, restUntil);
    if (over.signal.aborted || next >= dueAt) return;
    if (timer !== null) clearTimeout(timer);
    dueAt = next;
    timer = setTimeout(() => void read(), Math.max(0, next - Date.now()));
  };
  const read = async (): Promise<void> => {
    const isWatched = document.visibilityState === 'visible' && store.getState().fleet.seq >= 0;
    const list = isWatched ? await readWorkers(client, over.signal) : null;
    if (over.signal.aborted) return;
    const now = Date.now();
    if (list?.ok === true) {
      const { rows: workers, seq } = list;
      store.setState(({ fleet, loads, clockLeadMs }) => ({
        fleet: refreshed(fleet, { workers, seq }),
        loads: sampled(loads, workers, now),
        clockLeadMs: clockLead(workers, now) ?? clockLeadMs,
      }));
      restUntil = now + restMs(workers.length);
    }
    dueAt = Number.POSITIVE_INFINITY;
    plan(now + everyMs);
  };
  const soon = (): void => plan(Date.now() + soonMs);
  const stopListening = store.subscribe((state, before) => {
    if (state.fleet.recent !== before.fleet.recent) soon();
  });
  document.addEventListener('visibilitychange', soon);
  soon();
  return () => {
    over.abort();
    stopListening();
    document.removeEventListener('visibilitychange', soon);
    if (timer !== null) clearTimeout(timer);
  };
}
