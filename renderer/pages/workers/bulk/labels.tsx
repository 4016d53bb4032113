import { useMemo, useState } from 'react';
import { workersApi } from '../../../../protocol/admin-api.ts';
import { usePanel } from '../../../app/context.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { parseLabels } from '../labels.tsx';
import { Effects } from './effects.tsx';
import type { BulkQuestionProps } from './question.ts';
import { changedLabels, type LabelChange, labelChangeText } from './label-change.ts';

/** A dialog that adds labels to the workers and removes labels from them. */
export function BulkLabels({ workers, onConfirm, onClose }: BulkQuestionProps) {
  const t = useFleetTexts();
  const { client, fleet } = usePanel();
  const [text, setText] = useState('');
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const keys = useMemo(
    () => [...new Set(workers.flatMap(({ admin_labels: labels }) => Object.keys(labels)))].toSorted(),
    [workers],
  );
  const added = parseLabels(text);
  const change: LabelChange = { added: added.ok ? added.labels : {}, removed };
  const changing = workers.filter(({ admin_labels: labels }) => changedLabels(labels, change) !== null);
  const toggle = (key: string): void =>
    setRemoved(was =>
      was.has(key) ? new Set([...was].filter(each => each !== key)) : new Set([...was, key]),
    );
  const save = (): void =>
    onConfirm(changing, async ({ id, admin_labels: before }) => {
      // Use the current labels, because they may have changed since the dialog was opened.
      const current = fleet.getState().fleet.workers.get(id)?.admin_labels ?? before;
      const labels = changedLabels(current, change) ?? current;
      const answer = await client.call(workersApi.update, { params: { id }, body: { labels } });
      return answer.ok ? null : answer.failure;
    });
  return (
    <Dialog title={t('bulk.labels.title', { count: workers.length })} onClose={onClose} staysOpen>
      <form
        className="dialog-form"
        onSubmit={event => {
          event.preventDefault();
          if (added.ok && changing.length > 0) save();
        }}
      >
        <label>
          {t('bulk.labels.add')}
          <textarea
            className="mono"
            rows={2}
            spellCheck={false}
            aria-invalid={!added.ok}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        {!added.ok && <p className="trouble">{t('workers.edit.badLabel', { line: added.line })}</p>}
        {keys.length > 0 && (
          <fieldset className="worker-choice worker-label-keys">
            <legend>{t('bulk.labels.remove')}</legend>
            {keys.map(key => (
              <label key={key} className="worker-inline-label">
                <input type="checkbox" checked={removed.has(key)} onChange={() => toggle(key)} />
                {key}
              </label>
            ))}
          </fieldset>
        )}
        <Effects
          workers={workers}
          effectOn={({ admin_labels: labels }) => labelChangeText(labels, change) || t('bulk.unchanged')}
        />
        <p className="muted">{t('workers.edit.own')}</p>
        <footer className="dialog-foot">
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button kind="primary" type="submit" disabled={!added.ok || changing.length === 0}>
            {t('bulk.labels.act', { count: changing.length })}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
