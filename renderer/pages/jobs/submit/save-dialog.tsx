import { type SubmitEvent, useState } from 'react';
import type { CallFailure } from '../../../../protocol/client.ts';
import { configsApi } from '../../../../protocol/configs-api.ts';
import type { TrainerConfig } from '../../../../protocol/job.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { showToast } from '../../../ui/toast.tsx';
import { TextField } from '../field.tsx';
import { findEntry } from './configs.ts';
import { compareWithFolder, type Draft, fromFolder } from './draft.ts';
import { readFolderConfig } from './origins.ts';

interface SaveProps {
  readonly draft: Draft;
  readonly config: TrainerConfig;
  readonly change: (part: Partial<Draft>) => void;
  readonly onClose: () => void;
}

/** Saves the config in the form to the server's folder. Asks for confirmation before it replaces another config. */
export function SaveDialog({ draft, config, change, onClose }: SaveProps) {
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
    // The form then refers to the saved config, unless its dataloader differs from the dataloader in the folder.
    const inFolder = await readFolderConfig(client, name);
    const written = { config, dataloader: draft.dataloader };
    const saved = inFolder.ok ? inFolder.value : null;
    const isSame = saved !== null && compareWithFolder(written, saved) === 'same';
    change(isSame ? fromFolder(name, saved) : { configName: name });
    onClose();
  };
  /**
   * Returns the ETag of the config that the save may replace: the version that the user started from, otherwise the
   * current version.
   */
  const tagOf = async (configName: string): Promise<string> => {
    const { base } = draft;
    const isBase = base?.origin === 'folder' && base.name === configName;
    const entry = isBase ? base : await findEntry(client, configName);
    return entry?.etag ?? '*';
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
