import type { UiEvent } from '../../protocol/events.ts';
import type { JobId } from '../../protocol/ids.ts';
import { advance, type Fleet, fromSnapshot, withJobsPage, type JobsRead, type Snapshot } from './fleet.ts';
import { withEvents } from './sparklines.ts';
import type { FleetState, FleetStore } from './stores.ts';

/** Builds the fleet in memory from lists that are read in parts, and from events that arrive during and after the reads. */
export interface CatchUp {
  /** Drops the half-read fleet and the queued events, before a full read. The data on display stays. */
  reset(): void;
  /** Starts with the first part of the lists. */
  addSnapshot(snapshot: Snapshot): void;
  addPage(page: JobsRead): void;
  /** Reports that all parts have been read. */
  finish(): void;
  /** Queues an event until the next `flush`. */
  enqueue(event: UiEvent): void;
  /** Applies the queued events. When earlier events are missing, drops the queue, keeps the fleet unchanged and returns false. */
  flush(): boolean;
}

/**
 * The first read is shown part by part. A later read replaces the fleet on display only when it is complete, so that
 * rows do not disappear and reappear.
 */
export function createCatchUp(store: FleetStore): CatchUp {
  /** True once there is a snapshot to which events can be applied. */
  let hasSnapshot = false;
  /** The new fleet while it is being read and the old one is still displayed; null at other times. */
  let draft: Fleet | null = null;
  /**
   * Number of the last event of each job, kept during a full read so that older pages do not overwrite newer events.
   */
  let lastSeqs: Map<JobId, number> | null = null;
  let waiting: UiEvent[] = [];

  const current = (): Fleet => draft ?? store.getState().fleet;
  /** Changes the store once for all fields, because every component checks every change. */
  const update = (fleet: Fleet, others: Partial<FleetState> = {}): void => {
    if (draft === null) return store.setState({ ...others, fleet });
    draft = fleet;
    return store.setState(others);
  };

  return {
    reset() {
      hasSnapshot = false;
      draft = null;
      lastSeqs = new Map();
      // Drop the queued events: the new read includes them.
      waiting = [];
    },
    addSnapshot(snapshot) {
      const { fleet } = store.getState();
      const first = fromSnapshot(snapshot, fleet.recent);
      hasSnapshot = true;
      if (fleet.seq >= 0) draft = first;
      else store.setState({ fleet: first, stream: { kind: 'loading' } });
    },
    addPage: page => update(withJobsPage(current(), page, lastSeqs ?? new Map())),
    finish() {
      store.setState({ fleet: current(), stream: { kind: 'live' } });
      draft = null;
      lastSeqs = null;
    },
    enqueue: event => void waiting.push(event),
    flush() {
      if (!hasSnapshot || waiting.length === 0) return true;
      const events = waiting;
      waiting = [];
      const { fleet, missed } = advance(current(), events);
      if (missed) return false;
      for (const event of events) if (event.kind === 'job') lastSeqs?.set(event.job_id, event.seq);
      update(fleet, { losses: withEvents(store.getState().losses, events, fleet.jobs) });
      return true;
    },
  };
}
