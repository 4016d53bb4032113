import { createContext, useCallback, useContext, useEffect, useState } from 'react';
import type { Call } from '../../protocol/call.ts';
import type { CallFailure, CallInput, Client, ValueOf } from '../../protocol/client.ts';
import type { EarlierLosses } from '../api/earlier-losses.ts';
import type { May, Person } from '../api/session.ts';
import {
  type FleetState,
  type FleetStore,
  type PreferencesStore,
  useFleet as useFleetOf,
} from '../state/stores.ts';

/** The objects that every page of the panel uses. */
export interface Panel {
  readonly client: Client;
  readonly fleet: FleetStore;
  readonly preferences: PreferencesStore;
  readonly baseUrl: string;
  readonly person: Person;
  readonly may: May;
  readonly signOut: () => void;
  readonly earlierLosses: EarlierLosses;
}

const PanelContext = createContext<Panel | null>(null);
export const PanelProvider = PanelContext.Provider;

export function usePanel(): Panel {
  const panel = useContext(PanelContext);
  if (panel === null) throw new Error('there is no panel around this component');
  return panel;
}

/** Re-renders only when the selected value changes. */
export const useFleet = <T>(select: (state: FleetState) => T): T => useFleetOf(usePanel().fleet, select);

/**
 * Returns the function that decides which calls the signed-in user may make. The panel hides forbidden actions and does
 * not request forbidden data.
 */
export const useMay = (): May => usePanel().may;

interface CallState<T> {
  readonly value: T | null;
  readonly failure: CallFailure | null;
}

interface Loaded<T> extends CallState<T> {
  readonly reload: () => void;
}

/** The window receives this event when the user signs out, so that listeners end the user's subscriptions. */
export const signingOut = 'trainyard:signing-out';

/**
 * Makes a call when the component mounts, on `reload`, and when `input` or `version` changes. Keep the same `input`
 * object between renders. The previous answer stays until the new one arrives. Makes no call and
 * reports no failure when the user lacks the permission.
 */
export function useLoaded<C extends Call>(
  endpoint: C,
  input?: CallInput<C>,
  version = '',
): Loaded<ValueOf<C>> {
  const { client, may } = usePanel();
  const isAllowed = may(endpoint);
  const [answer, setAnswer] = useState<CallState<ValueOf<C>>>({ value: null, failure: null });
  const [reloads, setReloads] = useState(0);
  const reload = useCallback(() => setReloads(count => count + 1), []);
  useEffect(() => {
    if (!isAllowed) return undefined;
    const controller = new AbortController();
    void client.call(endpoint, Object.assign({}, input, { signal: controller.signal })).then(result => {
      if (controller.signal.aborted) return;
      if (result.ok) setAnswer({ value: result.value, failure: null });
      else setAnswer(({ value }) => ({ value, failure: result.failure }));
    });
    return () => controller.abort();
  }, [client, endpoint, input, version, isAllowed, reloads]);
  return { ...answer, reload };
}
