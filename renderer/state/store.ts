import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';
import { emptyFleet, type Fleet } from './fleet.ts';
import type { Loads } from './loads.ts';
import type { Losses } from './losses.ts';

/**
 * `loading`: the data is correct but incomplete. `live`: the data is complete and current. `stale`: the stream broke at that time and is
 * being reopened. `polled`: the user may not read the stream, so the data is polled.
 */
export type StreamState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'loading' }
  | { readonly kind: 'live' }
  | { readonly kind: 'stale'; readonly since: number }
  | { readonly kind: 'polled' };

export interface FleetState {
  readonly fleet: Fleet;
  readonly stream: StreamState;
  /** Samples of the last minutes in which the page was visible. */
  readonly loads: Loads;
  /** Losses of running jobs whose rows were visible. */
  readonly losses: Losses;
  /** How far the server's clock is ahead of this machine's, in milliseconds. */
  readonly clockLeadMs: number;
  /** Number of changes made from this page. */
  readonly acted: number;
}

export const createFleetStore = () =>
  createStore<FleetState>(() => ({
    fleet: emptyFleet,
    stream: { kind: 'connecting' },
    loads: new Map(),
    losses: new Map(),
    clockLeadMs: 0,
    acted: 0,
  }));

export type FleetStore = ReturnType<typeof createFleetStore>;

/** Re-renders only when the selected value changes. */
export const useFleet = <T>(store: FleetStore, select: (state: FleetState) => T): T =>
  useStore(store, select);
