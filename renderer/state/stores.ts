import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';
import type { Zone } from '../i18n/formats.ts';
import { isLanguage, type Language, preferredLanguage, pseudo } from '../i18n/index.ts';
import { emptyFleet, type Fleet } from './fleet.ts';
import type { Loads, Losses } from './sparklines.ts';

/**
 * State of the data on display. `loading`: correct but incomplete. `live`: complete and current. `stale`: the stream
 * broke at the time `since` and is being reopened. `polled`: read at intervals, because the user may not read the stream.
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
  /** GPU loads of the last minutes during which the page was visible. */
  readonly loads: Loads;
  /** Losses of running jobs whose rows have been visible. */
  readonly losses: Losses;
  /** Lead of the server's clock over this computer's, in milliseconds. */
  readonly clockLeadMs: number;
  /** Number of successful changes made from this page. Each increase causes a new read of polled data. */
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

/** Returns the selected value; re-renders only when it changes. */
export const useFleet = <T>(store: FleetStore, select: (state: FleetState) => T): T =>
  useStore(store, select);

/** Preferences of this browser, which the server does not know. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly language: Language | typeof pseudo;
  readonly zone: Zone;
  /** Paths of config values that the table of jobs shows as columns. */
  readonly jobColumns: readonly string[];
}

const preferencesKey = 'trainyard.preferences';

/**
 * Creates the store of the preferences, which saves them in `storage`. The initial language is the first supported one
 * in `browserLanguages`.
 */
export function createPreferences(storage: Storage, browserLanguages: readonly string[]) {
  const store = createStore<Preferences>(() => readPreferences(storage, browserLanguages));
  store.subscribe(now => storage.setItem(preferencesKey, JSON.stringify(now)));
  return store;
}

export type PreferencesStore = ReturnType<typeof createPreferences>;

export const usePreferences = (store: PreferencesStore): Preferences => useStore(store);

function readPreferences(storage: Storage, browserLanguages: readonly string[]): Preferences {
  const stored = parseObject(storage.getItem(preferencesKey));
  const theme = stored['theme'];
  const language = stored['language'];
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    language:
      typeof language === 'string' && (isLanguage(language) || language === pseudo)
        ? language
        : preferredLanguage(browserLanguages),
    zone: stored['zone'] === 'utc' ? 'utc' : 'local',
    jobColumns: textsIn(stored['jobColumns']).slice(0, 8),
  };
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : [];

function parseObject(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
