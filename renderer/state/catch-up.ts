import type { UiEvent } from '../../protocol/events.ts';
import type { JobId } from '../../protocol/ids.ts';
import { advance, type Fleet, fromSnapshot, joined, type JobsRead, type Snapshot } from './fleet.ts';
import { heard } from './losses.ts';
import type { FleetState, FleetStore } from './store.ts';

/** Puts together what is read in parts and what happens meanwhile. */
export interface CatchUp {
  /** All is to be read anew. What is shown stays. */
  begin(): void;
  first(snapshot: Snapshot): void;
  more(page: JobsRead): void;
  /** There is no more to be read. */
  whole(): void;
  /** Shown with the next `flush`. */
  take(event: UiEvent): void;
  /** False when events are missing between those that are known: nothing is shown then. */
  flush(): boolean;
}

/**
 * Where nothing is shown yet, what is read is shown part by part. Where an older fleet is shown, that stays until the newer
 * one is whole: nothing leaves the page only to come back.
 */
export function createCatchUp(store: FleetStore): CatchUp {
  /** Whether there is something that events can be applied to. */
  let isBegun = false;
  /** Grows beside the older fleet that is shown. */
  let draft: Fleet | null = null;
  /** The last events of jobs, as long as pages are read that may be older. */
  let told: Map<JobId, number> | null = null;
  let waiting: UiEvent[] = [];

  const current = (): Fleet => draft ?? store.getState().fleet;
  /** All at once: each change of the store is looked at by all that is shown. */
  const keep = (fleet: Fleet, others: Partial<FleetState> = {}): void => {
    store.setState(draft === null ? { ...others, fleet } : others);
    if (draft !== null) draft = fleet;
  };

  return {
    begin() {
      isBegun = false;
      draft = null;
      told = new Map();
      // What is read from now on is no older than these.
      waiting = [];
    },
    first(snapshot) {
      const { fleet } = store.getState();
      const first = fromSnapshot(snapshot, fleet.recent);
      isBegun = true;
      if (fleet.seq >= 0) draft = first;
      else store.setState({ fleet: first, stream: { kind: 'loading' } });
    },
    more: page => keep(joined(current(), page, told ?? new Map())),
    whole() {
      store.setState({ fleet: current(), stream: { kind: 'live' } });
      draft = null;
      told = null;
    },
    take: event => void waiting.push(event),
    flush() {
      if (!isBegun || waiting.length === 0) return true;
      const events = waiting;
      waiting = [];
      const { fleet, missed } = advance(current(), events);
      if (missed) return false;
      for (const event of events) if (event.kind === 'job') told?.set(event.job_id, event.seq);
      keep(fleet, { losses: heard(store.getState().losses, events, fleet.jobs) });
      return true;
    },
  };
}
