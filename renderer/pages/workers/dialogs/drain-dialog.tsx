import { useState } from 'react';
import { workersApi } from '../../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { DrainFields, drainBody, noDrainWish } from './drain-fields.tsx';

interface DrainDialogProps {
  readonly worker: WorkerView;
  readonly onClose: () => void;
}

/** Asks for the reason and the deadline, then drains the worker. */
export function DrainDialog({ worker: { id, name }, onClose }: DrainDialogProps) {
  const t = useT();
  const { client } = usePanel();
  const [wish, setWish] = useState(noDrainWish);
  const drain = async (): Promise<void> => {
    const answer = await client.call(workersApi.drain, { params: { id }, body: drainBody(wish) });
    if (!answer.ok) showFailure(t, answer.failure);
  };
  const values = { count: 1, name };
  return (
    <Confirm
      title={t('workers.drain.title', values)}
      consequence={t('workers.drain.consequence', values)}
      act={t('workers.drain.act')}
      onConfirm={() => void drain()}
      onClose={onClose}
    >
      <DrainFields wish={wish} onChange={setWish} />
    </Confirm>
  );
}
