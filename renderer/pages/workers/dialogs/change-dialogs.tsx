import { useState } from 'react';
import { workersApi } from '../../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Dialog, Confirm, DialogForm, TypedConfirm } from '../../../ui/dialog.tsx';
import { parseLabels, formatLabels } from '../labels.tsx';
import { showToast, showFailure } from '../../../ui/toast.tsx';
import { useStartAction } from '../actions.ts';
import { losesJobOnRotation } from '../facts.ts';
import { requestJoinOffer } from '../join/join-offer.ts';

interface EditDialogProps {
  readonly worker: WorkerView;
  readonly onClose: () => void;
}

export function EditDialog({ worker, onClose }: EditDialogProps) {
  const t = useT();
  const { client } = usePanel();
  const [name, setName] = useState(worker.name);
  const [labels, setLabels] = useState(() => formatLabels(worker.admin_labels));
  const save = async (): Promise<string | null> => {
    const read = parseLabels(labels);
    if (!read.ok) return t('workers.edit.badLabel', { line: read.line });
    // Send only the edited fields, because another user may have changed the other fields since the dialog was opened.
    const body = {
      ...(name.trim() === worker.name ? {} : { name: name.trim() }),
      ...(formatLabels(read.labels) === formatLabels(worker.admin_labels) ? {} : { labels: read.labels }),
    };
    if (Object.keys(body).length > 0) {
      const answer = await client.call(workersApi.update, { params: { id: worker.id }, body });
      if (!answer.ok) return detailOf(answer.failure) ?? t('error.unreachable');
    }
    onClose();
    return null;
  };
  return (
    <Dialog title={t('workers.edit.title', { name: worker.name })} onClose={onClose}>
      <DialogForm act={t('workers.edit.save')} send={save} onClose={onClose}>
        <label>
          {t('workers.edit.name')}
          <input required maxLength={100} value={name} onChange={event => setName(event.target.value)} />
        </label>
        <label>
          {t('workers.edit.labels')}
          <textarea
            className="mono"
            rows={5}
            spellCheck={false}
            value={labels}
            onChange={event => setLabels(event.target.value)}
          />
        </label>
        <p className="muted">{t('workers.edit.own')}</p>
      </DialogForm>
    </Dialog>
  );
}

interface RotateDialogProps {
  readonly worker: WorkerView;
  readonly onClose: () => void;
}

type Mode = 'now' | 'after_job';

export function RotateDialog({ worker, onClose }: RotateDialogProps) {
  const t = useT();
  const start = useStartAction();
  const { client, baseUrl } = usePanel();
  const isRisky = losesJobOnRotation(worker);
  const [mode, setMode] = useState<Mode>(isRisky ? 'after_job' : 'now');
  const rotate = async (): Promise<void> => {
    const { id, worker_type: type } = worker;
    const answer = await client.call(workersApi.rotateToken, { params: { id }, body: { mode } });
    if (!answer.ok) return showFailure(t, answer.failure);
    const { token, name } = answer.value;
    const requested = await requestJoinOffer(client, id);
    const offer = requested.ok ? requested.value : null;
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
