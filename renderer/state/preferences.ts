import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';
import type { Zone } from '../i18n/formats.ts';
import { isLanguage, type Language, preferredLanguage, pseudo } from '../i18n/index.ts';

/** Preferences of this browser, unknown to the server. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly language: Language | typeof pseudo;
  readonly zone: Zone;
}

const key = 'trainyard.preferences';

/** Creates the preferences store, saved in `storage`. `wanted`: the languages that the browser asks for. */
export function createPreferences(storage: Storage, wanted: readonly string[]) {
  const store = createStore<Preferences>(() => read(storage, wanted));
  store.subscribe(now => storage.setItem(key, JSON.stringify(now)));
  return store;
}

export type PreferencesStore = ReturnType<typeof createPreferences>;

export const usePreferences = (store: PreferencesStore): Preferences => useStore(store);

function read(storage: Storage, wanted: readonly string[]): Preferences {
  const kept = parsed(storage.getItem(key));
  const theme = kept['theme'];
  const language = kept['language'];
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    language:
      typeof language === 'string' && (isLanguage(language) || language === pseudo)
        ? language
        : preferredLanguage(wanted),
    zone: kept['zone'] === 'utc' ? 'utc' : 'local',
  };
}

function parsed(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
