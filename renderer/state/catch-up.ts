import type { UiEvent } from '../../protocol/events.ts';
import type { JobId } from '../../protocol/ids.ts';
import { advance, type Fleet, fromSnapshot, joined, type JobsRead, type Snapshot } from './fleet.ts';
import { withEvents } from './sparklines.ts';
import type { FleetState, FleetStore } from './stores.ts';

/** Merges data that is read in parts with events that arrive in the meantime. */
export interface CatchUp {
  /** Starts a full read. The displayed data stays. */
  begin(): void;
  first(snapshot: Snapshot): void;
  more(page: JobsRead): void;
  /** All parts have been read. */
  whole(): void;
  /** Queues an event for the next `flush`. */
  take(event: UiEvent): void;
  /** Applies the queued events. Returns false, and shows nothing, when events are missing. */
  flush(): boolean;
}

/**
 * The first load is shown part by part. Later loads replace the displayed fleet only when complete, so that rows do not vanish and
 * reappear.
 */
export function createCatchUp(store: FleetStore): CatchUp {
  /** True once there is data that events can be applied to. */
  let hasSnapshot = false;
  /** The new fleet, built while the old one is displayed. */
  let draft: Fleet | null = null;
  /** The last events per job, kept while pages are read that may be older. */
  let lastSeqs: Map<JobId, number> | null = null;
  let waiting: UiEvent[] = [];

  const current = (): Fleet => draft ?? store.getState().fleet;
  /** Updates the store once, because every component checks each update. */
  const keep = (fleet: Fleet, others: Partial<FleetState> = {}): void => {
    store.setState(draft === null ? { ...others, fleet } : others);
    if (draft !== null) draft = fleet;
  };

  return {
    begin() {
      hasSnapshot = false;
      draft = null;
      lastSeqs = new Map();
      // Later reads include these events.
      waiting = [];
    },
    first(snapshot) {
      const { fleet } = store.getState();
      const first = fromSnapshot(snapshot, fleet.recent);
      hasSnapshot = true;
      if (fleet.seq >= 0) draft = first;
      else store.setState({ fleet: first, stream: { kind: 'loading' } });
    },
    more: page => keep(joined(current(), page, lastSeqs ?? new Map())),
    whole() {
      store.setState({ fleet: current(), stream: { kind: 'live' } });
      draft = null;
      lastSeqs = null;
    },
    take: event => void waiting.push(event),
    flush() {
      if (!hasSnapshot || waiting.length === 0) return true;
      const events = waiting;
      waiting = [];
      const { fleet, missed } = advance(current(), events);
      if (missed) return false;
      for (const event of events) if (event.kind === 'job') lastSeqs?.set(event.job_id, event.seq);
      keep(fleet, { losses: withEvents(store.getState().losses, events, fleet.jobs) });
      return true;
    },
  };
}
