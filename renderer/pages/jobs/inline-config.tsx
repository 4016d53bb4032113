import { useState } from 'react';
import { configsApi } from '../../../protocol/configs-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { ConfigDiff, ConfigText } from './config-parts.tsx';
import { configTrouble, type Draft } from './draft.ts';
import { Field } from './field.tsx';
import { parseConfig } from './json.ts';
import { SaveDialog } from './save-dialog.tsx';

interface InlineProps {
  readonly draft: Draft;
  readonly error: string | undefined;
  readonly change: (part: Partial<Draft>) => void;
}

/** An editor for an inline config, validated while typing. Empty text is not an error yet. */
export function InlineConfig({ draft, error, change }: InlineProps) {
  const t = useT();
  const [isSaving, setSaving] = useState(false);
  const parsed = parseConfig(draft.config);
  const isEmpty = draft.config.trim() === '';
  const trouble = isEmpty || parsed.ok ? error : configTrouble(parsed, t);
  return (
    <>
      <Field
        label={t('jobs.submit.config')}
        hint={parsed.ok && trouble === undefined ? t('jobs.submit.isJson') : undefined}
        error={trouble}
      >
        {tied => (
          <textarea
            {...tied}
            className="mono"
            rows={12}
            spellCheck={false}
            value={draft.config}
            onChange={({ target }) => change({ config: target.value })}
          />
        )}
      </Field>
      <DataloaderNote draft={draft} change={change} />
      {parsed.ok && draft.base !== null && (
        <ConfigDiff
          before={draft.base.config}
          after={parsed.config}
          label={t('jobs.configs.diff', { name: draft.base.name })}
          names={[draft.base.name, t('jobs.diff.run')]}
        />
      )}
      <Allowed call={configsApi.put}>
        <div>
          <Button disabled={!parsed.ok} onClick={() => setSaving(true)}>
            {t('jobs.save.open')}
          </Button>
        </div>
      </Allowed>
      {isSaving && parsed.ok && (
        <SaveDialog draft={draft} config={parsed.config} change={change} onClose={() => setSaving(false)} />
      )}
    </>
  );
}

/** The config's dataloader is submitted with it unless the user removes it. */
function DataloaderNote({ draft: { dataloader }, change }: Omit<InlineProps, 'error'>) {
  const t = useT();
  if (dataloader === null || dataloader === undefined) return null;
  return (
    <details className="chosen">
      <summary>{t('jobs.configs.dataloaderGoes')}</summary>
      <ConfigText value={dataloader} label={t('jobs.config.dataloader')} />
      <div>
        <Button onClick={() => change({ dataloader: null })}>{t('jobs.configs.dataloaderLeave')}</Button>
      </div>
    </details>
  );
}
