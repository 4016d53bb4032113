import { useState } from 'react';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { detailOf } from '../../api/client.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { DialogForm } from '../../ui/dialog-form.tsx';
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
  const save = async (): Promise<string | null> => {
    const read = readLabels(labels);
    if (!read.ok) return t('workers.edit.badLabel', { line: read.line });
    // Send only edited fields, because another user may have changed the others.
    const body = {
      ...(name.trim() === worker.name ? {} : { name: name.trim() }),
      ...(textOfLabels(read.labels) === textOfLabels(worker.admin_labels) ? {} : { labels: read.labels }),
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
