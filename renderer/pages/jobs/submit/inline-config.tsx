import { useState, type SubmitEvent } from 'react';
import { configsApi } from '../../../../protocol/configs-api.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { ConfigDiff, ConfigText } from './config-parts.tsx';
import { syntaxErrorText, parseConfig } from './json.ts';
import { type Draft, compareWithFolder } from './draft.ts';
import { Field, TextField } from '../field.tsx';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { TrainerConfig } from '../../../../protocol/job.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { showToast } from '../../../ui/toast.tsx';
import { findEntry, findTraining } from './configs.ts';

interface InlineProps {
  readonly draft: Draft;
  readonly error: string | undefined;
  readonly change: (part: Partial<Draft>) => void;
}

/** An editor for a config, with errors shown while typing. An empty field shows no error yet. */
export function InlineConfig({ draft, error, change }: InlineProps) {
  const t = useT();
  const [isSaving, setSaving] = useState(false);
  const parsed = parseConfig(draft.config);
  const isEmpty = draft.config.trim() === '';
  const trouble = isEmpty || parsed.ok ? error : syntaxErrorText(parsed, t);
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

/** Says that the dataloader is submitted with the config. The user can remove it. */
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

interface SaveProps {
  readonly draft: Draft;
  readonly config: TrainerConfig;
  readonly change: (part: Partial<Draft>) => void;
  readonly onClose: () => void;
}

/** Saves the config in the form to the server's folder. Asks for confirmation before it replaces another config. */
function SaveDialog({ draft, config, change, onClose }: SaveProps) {
  const t = useT();
  const { client } = usePanel();
  const [name, setName] = useState(draft.configName.trim());
  const [taken, setTaken] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  const save = async (replaces: boolean): Promise<void> => {
    setBusy(true);
    const headers: Record<string, string> = replaces
      ? { 'if-match': await tagOf(name) }
      : { 'if-none-match': '*' };
    const answer = await client.call(configsApi.put, { params: { name }, body: { ...config }, headers });
    if (!answer.ok) {
      setBusy(false);
      setTaken(codeOf(answer.failure) === 'config_exists' ? name : null);
      return setTrouble(detailOf(answer.failure) ?? t('error.unreachable'));
    }
    const [why] = answer.value.warnings;
    showToast(why === undefined ? t('jobs.save.saved', { name }) : t('jobs.save.notYet', { name, why }));
    // Select the saved config by its name, unless the form has another dataloader than the folder.
    const now = await findTraining(client, name);
    const written = { config, dataloader: draft.dataloader };
    const means = now !== null && compareWithFolder(written, now) === 'same';
    if (means) change({ source: 'name', configName: name, config: '', dataloader: null, base: null });
    else change({ configName: name, base: { name, etag: answer.value.etag, config } });
    onClose();
  };
  /**
   * Returns the tag of the config that the save may replace: the one that the user started from, otherwise the current
   * one.
   */
  const tagOf = async (wanted: string): Promise<string> => {
    const { base } = draft;
    const known = base?.name === wanted ? base : await findEntry(client, wanted);
    return known?.etag ?? '*';
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    void save(false);
  };
  const isNameless = name.trim() === '' || name === '.' || name === '..';
  return (
    <Dialog title={t('jobs.save.title')} onClose={onClose}>
      <form className="dialog-form" onSubmit={submit} noValidate>
        <p className="muted">{t('jobs.save.explain')}</p>
        <TextField
          label={t('jobs.save.name')}
          error={trouble}
          value={name}
          onChange={value => {
            setName(value);
            setTaken(null);
            setTrouble(undefined);
          }}
        />
        <footer className="dialog-foot">
          {taken === name && (
            <Button kind="danger" disabled={isBusy} onClick={() => void save(true)}>
              {t('jobs.save.replace', { name })}
            </Button>
          )}
          <Button kind="primary" type="submit" disabled={isBusy || isNameless}>
            {t('jobs.save.act')}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

const codeOf = (failure: CallFailure): string | null =>
  failure.kind === 'problem' ? failure.problem.code : null;
