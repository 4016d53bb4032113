import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { showToast, showFailure } from '../../ui/toast.tsx';
import { TypedConfirm } from '../../ui/typed-confirm.tsx';

interface RemoveDialogProps {
  readonly worker: WorkerView;
  readonly onClose: () => void;
}

export function RemoveDialog({ worker: { id, name }, onClose }: RemoveDialogProps) {
  const t = useT();
  const { client } = usePanel();
  const remove = async (): Promise<void> => {
    const answer = await client.call(workersApi.remove, { params: { id } });
    if (answer.ok) showToast(t('workers.removed', { name }));
    else showFailure(t, answer.failure);
  };
  return (
    <TypedConfirm
      name={name}
      title={t('workers.remove.title', { name })}
      consequence={t('workers.remove.consequence')}
      ask={t('workers.remove.type', { name })}
      act={t('workers.remove.act')}
      onConfirm={() => void remove()}
      onClose={onClose}
    />
  );
}
