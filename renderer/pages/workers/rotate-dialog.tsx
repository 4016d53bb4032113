import { useState } from 'react';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { useStart } from './acts.ts';
import { losesJobOnRotation } from './facts.ts';
import { askForOffer } from './join-offer.ts';

interface RotateDialogProps {
  readonly worker: WorkerView;
  readonly onClose: () => void;
}

type Mode = 'now' | 'after_job';

export function RotateDialog({ worker, onClose }: RotateDialogProps) {
  const t = useT();
  const start = useStart();
  const { client, baseUrl } = usePanel();
  const isRisky = losesJobOnRotation(worker);
  const [mode, setMode] = useState<Mode>(isRisky ? 'after_job' : 'now');
  const rotate = async (): Promise<void> => {
    const { id, worker_type: type } = worker;
    const answer = await client.call(workersApi.rotateToken, { params: { id }, body: { mode } });
    if (!answer.ok) return showFailure(t, answer.failure);
    const { token, name } = answer.value;
    const made = await askForOffer(client, id);
    const offer = made.ok ? made.value : null;
    start({ kind: 'issued', id, joining: { url: baseUrl, token, name, type }, offer, isNew: false });
  };
  return (
    <Confirm
      title={t('workers.rotate.title', { name: worker.name })}
      consequence={t('workers.rotate.consequence')}
      act={t('workers.rotate.act')}
      onConfirm={() => void rotate()}
      onClose={onClose}
    >
      {isRisky && (
        <p className="worker-notice" role="note">
          {t('workers.rotate.warning')}
        </p>
      )}
      {worker.current_job_id !== null && (
        <fieldset className="worker-choice">
          <legend>{t('workers.rotate.mode')}</legend>
          <Choice mode="now" chosen={mode} onChoose={setMode} text={t('workers.rotate.now')} />
          <Choice mode="after_job" chosen={mode} onChoose={setMode} text={t('workers.rotate.afterJob')} />
        </fieldset>
      )}
    </Confirm>
  );
}

interface ChoiceProps {
  readonly mode: Mode;
  readonly chosen: Mode;
  readonly onChoose: (mode: Mode) => void;
  readonly text: string;
}

const Choice = ({ mode, chosen, onChoose, text }: ChoiceProps) => (
  <label className="worker-inline-label">
    <input type="radio" name="rotate-mode" checked={mode === chosen} onChange={() => onChoose(mode)} />
    {text}
  </label>
);
