import { createContext, useContext } from 'react';
import type { Client } from '../../protocol/client.ts';
import type { EarlierLosses } from '../api/earlier-losses.ts';
import type { May, Person } from '../api/person.ts';
import { type FleetState, type FleetStore, useFleet as useFleetOf } from '../state/store.ts';
import type { PreferencesStore } from '../state/preferences.ts';

/** What every page uses. */
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

/** The panel hides actions that the user may not do, and does not request data that the user may not read. */
export const useMay = (): May => usePanel().may;
