import { Suspense, useMemo, useState } from 'react';
import { maxValueJobs, maxValueKeys } from '../../../../protocol/config-values.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { detailOf } from '../../../api/session.ts';
import { useLoaded, usePanel } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { createPageTexts } from '../../../app/page-texts.tsx';
import { columns as english, type ColumnKey } from '../../../i18n/en/columns.ts';
import { usePreferences } from '../../../state/stores.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Tick } from '../field.tsx';

const { Texts, useTexts } = createPageTexts<ColumnKey>(english, {
  es: async () => (await import('../../../i18n/es/columns.ts')).columns,
  zh: async () => (await import('../../../i18n/zh/columns.ts')).columns,
  hi: async () => (await import('../../../i18n/hi/columns.ts')).columns,
  ja: async () => (await import('../../../i18n/ja/columns.ts')).columns,
  pseudo: async () => (await import('../../../i18n/pseudo.ts')).pseudoOf(english),
});

interface ChooserProps {
  /** The jobs of the table. The dialog offers the keys whose values differ among the first `maxValueJobs` of these jobs. */
  readonly rows: readonly JobView[];
}

/** A button that opens a dialog, where the user chooses config values to show as columns. */
export const ColumnChooser = ({ rows }: ChooserProps) => (
  <Allowed call={queueApi.configValues}>
    <Suspense fallback={null}>
      <Texts>
        <Chooser rows={rows} />
      </Texts>
    </Suspense>
  </Allowed>
);

function Chooser({ rows }: ChooserProps) {
  const t = useTexts();
  const [jobs, setJobs] = useState<string | null>(null);
  const open = (): void =>
    setJobs(
      rows
        .slice(0, maxValueJobs)
        .map(({ id }) => id)
        .join(),
    );
  return (
    <>
      <Button disabled={rows.length === 0} onClick={open}>
        {t('columns.open')}
      </Button>
      {jobs !== null && <ChooserDialog jobs={jobs} onClose={() => setJobs(null)} />}
    </>
  );
}

/** Number of keys above which the dialog has a filter field. */
const manyKeys = 12;

function ChooserDialog({ jobs, onClose }: { readonly jobs: string; readonly onClose: () => void }) {
  const t = useTexts();
  const { preferences } = usePanel();
  const { jobColumns: chosen } = usePreferences(preferences);
  const [text, setText] = useState('');
  const input = useMemo(() => ({ query: { jobs } }), [jobs]);
  const { value, failure } = useLoaded(queueApi.configValues, input);
  const all = [...new Set([...chosen, ...(value?.keys ?? [])])];
  const shown = all.filter(key => key.toLowerCase().includes(text.toLowerCase()));
  const isFull = chosen.length >= maxValueKeys;
  const toggle = (key: string, isOn: boolean): void =>
    preferences.setState({ jobColumns: isOn ? [...chosen, key] : chosen.filter(each => each !== key) });
  return (
    <Dialog title={t('columns.title')} onClose={onClose}>
      <div className="dialog-form" aria-busy={value === null && failure === null}>
        <p className="muted">{t('columns.explain', { max: maxValueKeys })}</p>
        {failure !== null && (
          <p className="trouble" role="alert">
            {detailOf(failure) ?? t('error.unreachable')}
          </p>
        )}
        {all.length > manyKeys && (
          <input
            type="search"
            aria-label={t('columns.search')}
            placeholder={t('columns.search')}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
        {all.length === 0 && value !== null && <p>{t('columns.none')}</p>}
        <div className="column-keys">
          {shown.map(key => (
            <Tick
              key={key}
              label={
                <span className="mono" translate="no">
                  {key}
                </span>
              }
              isOn={chosen.includes(key)}
              isDisabled={isFull && !chosen.includes(key)}
              onChange={isOn => toggle(key, isOn)}
            />
          ))}
        </div>
        <p className="muted" role="status">
          {t('columns.chosen', { count: chosen.length, max: maxValueKeys })}
        </p>
      </div>
    </Dialog>
  );
}
