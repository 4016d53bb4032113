import { type SubmitEvent, useState } from 'react';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { detailOf } from '../../api/client.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { readLabels, textOfLabels } from './labels-text.ts';

interface EditDialogProps {
  readonly worker: WorkerView;
  readonly onClose: () => void;
}

export function EditDialog({ worker, onClose }: EditDialogProps) {
  const t = useT();
  const { client } = usePanel();
  const [name, setName] = useState(worker.name);
  const [labels, setLabels] = useState(() => textOfLabels(worker.admin_labels));
  const [trouble, setTrouble] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    const read = readLabels(labels);
    if (!read.ok) return setTrouble(t('workers.edit.badLabel', { line: read.line }));
    // What was not touched is not sent: somebody else may have changed it meanwhile.
    const body = {
      ...(name.trim() === worker.name ? {} : { name: name.trim() }),
      ...(textOfLabels(read.labels) === textOfLabels(worker.admin_labels) ? {} : { labels: read.labels }),
    };
    if (Object.keys(body).length === 0) return onClose();
    const answer = await client.call(workersApi.update, { params: { id: worker.id }, body });
    if (answer.ok) onClose();
    else setTrouble(detailOf(answer.failure) ?? t('error.unreachable'));
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void save();
  };
  return (
    <Dialog title={t('workers.edit.title', { name: worker.name })} onClose={onClose}>
      <form className="worker-form" onSubmit={submit}>
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
        {trouble !== null && (
          <p role="alert" className="trouble">
            {trouble}
          </p>
        )}
        <footer className="dialog-foot">
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button kind="primary" type="submit">
            {t('workers.edit.save')}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
