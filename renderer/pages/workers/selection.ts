import { createContext, useContext } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';

/** The selected workers. */
interface Selection {
  readonly chosen: ReadonlySet<WorkerId>;
  readonly toggle: (id: WorkerId) => void;
}

const SelectionContext = createContext<Selection>({ chosen: new Set(), toggle: () => undefined });
export const SelectionProvider = SelectionContext.Provider;
export const useSelection = (): Selection => useContext(SelectionContext);
