import { createContext, useContext } from 'react';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { useT } from '../../i18n/index.ts';

/** The selected workers of the table. */
interface Selection {
  readonly chosen: ReadonlySet<WorkerId>;
  readonly toggle: (id: WorkerId) => void;
}

const SelectionContext = createContext<Selection>({ chosen: new Set(), toggle: () => undefined });
export const SelectionProvider = SelectionContext.Provider;
const useSelection = (): Selection => useContext(SelectionContext);

export function SelectCell({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const { chosen, toggle } = useSelection();
  return (
    <input
      type="checkbox"
      className="worker-select"
      aria-label={t('workers.select', { name: worker.name })}
      checked={chosen.has(worker.id)}
      onChange={() => toggle(worker.id)}
    />
  );
}
