import { useState } from 'react';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { tell, tellFailure } from '../../ui/toast.tsx';

interface RemoveDialogProps {
  readonly worker: WorkerView;
  readonly onClose: () => void;
}

/** Nobody types a name by accident. */
export function RemoveDialog({ worker: { id, name }, onClose }: RemoveDialogProps) {
  const t = useT();
  const { client } = usePanel();
  const [typed, setTyped] = useState('');
  const remove = async (): Promise<void> => {
    const answer = await client.call(workersApi.remove, { params: { id } });
    if (answer.ok) tell(t('workers.removed', { name }));
    else tellFailure(t, answer.failure);
  };
  return (
    <Confirm
      title={t('workers.remove.title', { name })}
      consequence={t('workers.remove.consequence')}
      act={t('workers.remove.act')}
      isReady={typed.trim() === name.trim()}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <label>
        {t('workers.remove.type', { name })}
        <input
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={event => setTyped(event.target.value)}
        />
      </label>
    </Confirm>
  );
}
