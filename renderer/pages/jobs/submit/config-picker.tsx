import { useState } from 'react';
import type { ConfigView } from '../../../../protocol/configs-api.ts';
import { detailOf } from '../../../api/session.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { relative, useNow } from '../../../ui/time.tsx';
import { type Draft, type Training, toInlineDraft } from './draft.ts';
import { Field } from '../field.tsx';
import { useCombobox } from '../use-combobox.ts';
import { type FoundConfigs, useConfigs, readTraining } from './configs.ts';
import { usePanel } from '../../../app/context.ts';
import { showFailure } from '../../../ui/toast.tsx';
import { ConfigText } from './config-parts.tsx';

interface PickerProps {
  readonly draft: Draft;
  readonly error: string | undefined;
  readonly change: (part: Partial<Draft>) => void;
}

/** Searches the configs in the server's folder by name, and selects one. */
export function ConfigPicker({ draft: { configName: name }, error, change }: PickerProps) {
  const t = useT();
  const [turn, setTurn] = useState(0);
  const { found, failure } = useConfigs(name.trim(), turn);
  const entries = found?.entries ?? [];
  const box = useCombobox(
    entries.map(entry => entry.name),
    configName => change({ configName }),
    () => setTurn(was => was + 1),
  );
  const chosen = entries.find(entry => entry.name === name.trim());
  const isEmpty = found !== null && found.text === '' && entries.length === 0;
  return (
    <>
      <Field
        label={t('jobs.submit.name')}
        hint={hintOf(found, t)}
        error={error ?? (failure === null ? undefined : (detailOf(failure) ?? t('error.unreachable')))}
      >
        {tied => (
          <div className="picker">
            <input
              {...tied}
              {...box.field}
              value={name}
              onChange={({ target }) => {
                box.rewrite();
                change({ configName: target.value });
              }}
            />
            <div {...box.list} aria-label={t('jobs.configs.list')} className="picker-list">
              {entries.map((entry, place) => (
                <ConfigOption
                  key={entry.name}
                  {...box.option(place)}
                  entry={entry}
                  isChosen={entry.name === name}
                  onChoose={() => box.take(entry.name)}
                />
              ))}
            </div>
          </div>
        )}
      </Field>
      {isEmpty && (
        <div className="note">
          <p>{t('jobs.configs.none', { folder: found.folder })}</p>
          <Button onClick={() => change({ source: 'inline' })}>{t('jobs.configs.write')}</Button>
        </div>
      )}
      {chosen !== undefined && (
        <ChosenConfig key={`${chosen.name} ${chosen.etag}`} entry={chosen} change={change} />
      )}
    </>
  );
}

function hintOf(found: FoundConfigs | null, t: Translator): string {
  if (found === null || found.text === '') return t('jobs.submit.nameHint');
  if (found.entries.length === 0) return t('jobs.configs.noneMatch');
  return found.hasMore ? t('jobs.configs.more', { count: found.entries.length }) : t('jobs.submit.nameHint');
}

interface OptionProps {
  readonly id: string;
  readonly entry: ConfigView;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

/** Selects on mouse down, because a click would arrive after the field has lost the focus. */
function ConfigOption({ id, entry, isActive, isChosen, onChoose }: OptionProps) {
  const t = useT();
  const now = useNow(60_000);
  const ago = relative(Date.parse(entry.changed_at), now, t.language);
  return (
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      data-active={isActive}
      className="picker-option"
      ref={element => {
        if (isActive) element?.scrollIntoView({ block: 'nearest' });
      }}
      onMouseDown={event => {
        event.preventDefault();
        onChoose();
      }}
    >
      <span className="picker-name">{entry.name}</span>
      {entry.problem === null ? (
        <span className="muted">{aboutConfig(entry, ago, t)}</span>
      ) : (
        <span className="trouble">{entry.problem}</span>
      )}
    </div>
  );
}

interface ChosenProps {
  readonly entry: ConfigView;
  readonly change: (part: Partial<Draft>) => void;
}

/** Shows the selected config. The user can copy it into the form and edit it for this job only. */
function ChosenConfig({ entry, change }: ChosenProps) {
  const t = useT();
  const now = useNow(60_000);
  const ago = relative(Date.parse(entry.changed_at), now, t.language);
  const { client } = usePanel();
  const [training, setTraining] = useState<Training | null>(null);
  const read = async (): Promise<Training | null> => {
    if (training !== null) return training;
    const answer = await readTraining(client, entry);
    if (answer.ok) setTraining(answer.value);
    else showFailure(t, answer.failure);
    return answer.ok ? answer.value : null;
  };
  const edit = async (): Promise<void> => {
    const found = await read();
    if (found === null) return;
    const { name, etag } = entry;
    change({ ...toInlineDraft(found), base: { name, etag, config: found.config } });
  };
  return (
    <div className="chosen">
      <p>
        <strong>{entry.name}</strong> <span className="muted">{aboutConfig(entry, ago, t)}</span>
      </p>
      {entry.problem !== null && <p className="trouble">{entry.problem}</p>}
      <details onToggle={({ currentTarget }) => void (currentTarget.open && read())}>
        <summary>{t('jobs.configs.show')}</summary>
        {training !== null && <ConfigText value={training.config} label={t('jobs.submit.config')} />}
        {training !== null && training.dataloader !== null && (
          <>
            <p className="muted">{t('jobs.config.dataloader')}</p>
            <ConfigText value={training.dataloader} label={t('jobs.config.dataloader')} />
          </>
        )}
      </details>
      <div>
        <Button onClick={() => void edit()}>{t('jobs.configs.edit')}</Button>
      </div>
    </div>
  );
}

/** Returns a summary such as "flux · lora · 2 GPUs · changed 3 hr. ago". @internal */
export function aboutConfig(entry: ConfigView, ago: string, t: Translator): string {
  const { model_family: family, model_type: type, gpu_count: gpus, devices } = entry;
  const parts = [
    family,
    type,
    devices === null
      ? t('jobs.configs.gpus', { count: gpus ?? 0 })
      : t('jobs.configs.devices', { list: devices.join(', ') }),
    t('jobs.configs.changed', { time: ago }),
  ];
  return parts.filter(part => part !== null).join(' · ');
}
