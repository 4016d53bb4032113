import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';
import { emptyFleet, type Fleet } from './fleet.ts';
import type { Loads } from './loads.ts';
import type { Losses } from './losses.ts';

/**
 * `loading`: what is shown is so, and there is more that is not shown yet. `live`: what is shown is what is. `stale`: the
 * stream broke at that time, and is being opened again. `polled`: there is no stream for whoever is signed in, and what they
 * may see is read again and again.
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
  /** Of the last minutes in which somebody looked. */
  readonly loads: Loads;
  /** Of the jobs that run, as far as somebody has looked. */
  readonly losses: Losses;
  /** How far the clock of the server is before that of this machine. */
  readonly clockLeadMs: number;
  /** So many changes were made from this page. */
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

/** Renders again only when what is selected is another thing than before. */
export const useFleet = <T>(store: FleetStore, select: (state: FleetState) => T): T =>
  useStore(store, select);
