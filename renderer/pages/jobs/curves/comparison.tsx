import { useEffect, useId, useMemo, useState } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import { JobId } from '../../../../protocol/ids.ts';
import type { JobDetail, JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { useCombobox } from '../use-combobox.ts';
import type { Compared } from './lines.ts';
import { maxOthers, type View } from './view.ts';

interface ComparisonProps {
  readonly job: JobDetail;
  readonly others: readonly JobId[];
  /** The other jobs that have been loaded. */
  readonly compared: readonly Compared[];
  readonly onChange: (change: Partial<View>) => void;
}

/** Selects other jobs whose curves are drawn in the same charts. */
export function Comparison({ job, others, compared, onChange }: ComparisonProps) {
  const t = useT();
  const nameOf = (id: JobId): string => compared.find(each => each.id === id)?.name ?? id;
  return (
    <div className="curve-compare">
      {others.length < maxOthers ? (
        <Picker taken={[job.id, ...others]} onChoose={id => onChange({ others: [...others, id] })} />
      ) : (
        <p className="muted">{t('curves.compare.full')}</p>
      )}
      {others.length > 0 && (
        <ul className="chips" aria-label={t('curves.compared')}>
          {others.map(id => (
            <li key={id} className="chip">
              <span translate="no">{nameOf(id)}</span>{' '}
              <button
                type="button"
                className="chip-remove"
                aria-label={t('curves.compare.remove', { job: nameOf(id) })}
                onClick={() => onChange({ others: others.filter(other => other !== id) })}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface PickerProps {
  /** Jobs that are already selected, and the main job. */
  readonly taken: readonly JobId[];
  readonly onChoose: (id: JobId) => void;
}

/** Selects a job by a part of its name or id. */
function Picker({ taken, onChoose }: PickerProps) {
  const t = useT();
  const hintId = useId();
  const fieldId = useId();
  const [text, setText] = useState('');
  const [isOpened, setOpened] = useState(false);
  const foundJobs = useFound(text.trim(), isOpened);
  const fitting = useMemo(
    () => (foundJobs ?? []).filter(({ id }) => !taken.includes(id)),
    [foundJobs, taken],
  );
  const box = useCombobox(
    fitting.map(({ id }) => id),
    id => {
      setText('');
      onChoose(JobId.parse(id));
    },
    () => setOpened(true),
  );
  return (
    <div className="curve-picker">
      <label htmlFor={fieldId}>{t('curves.compare')}</label>
      <div className="picker">
        <input
          id={fieldId}
          {...box.field}
          value={text}
          placeholder={t('curves.compare.hint')}
          aria-describedby={hintId}
          onChange={({ target }) => {
            box.rewrite();
            setText(target.value);
          }}
        />
        <div {...box.list} aria-label={t('curves.compare.list')} className="picker-list">
          {fitting.map((job, index) => {
            const { id } = job;
            const { isActive, ...option } = box.option(index);
            return (
              <div
                key={id}
                {...option}
                role="option"
                tabIndex={-1}
                aria-selected={isActive}
                data-active={isActive}
                className="picker-option"
                translate="no"
                onMouseDown={event => {
                  // Without this, the field would lose the focus and the list would close.
                  event.preventDefault();
                  box.take(id);
                }}
              >
                {shownName(job)} <span className="muted mono">{id}</span>
              </div>
            );
          })}
        </div>
      </div>
      <span id={hintId} className="muted" role="status">
        {isOpened && foundJobs !== null && fitting.length === 0 && t('curves.compare.none')}
      </span>
    </div>
  );
}

const maxOffered = 8;

/** Finds jobs that match the text, newest first; null until the first answer. */
function useFound(text: string, isOpened: boolean): readonly JobView[] | null {
  const { client } = usePanel();
  const [foundJobs, setFoundJobs] = useState<readonly JobView[] | null>(null);
  useEffect(() => {
    if (!isOpened) return undefined;
    const controller = new AbortController();
    const query = { limit: maxOffered + maxOthers + 1, ...(text !== '' && { q: text }) };
    void client.call(queueApi.list, { query, signal: controller.signal }).then(answer => {
      if (!controller.signal.aborted && answer.ok) setFoundJobs(answer.value.entries);
    });
    return () => controller.abort();
  }, [client, text, isOpened]);
  return foundJobs;
}
