import { useEffect, useRef, useState } from 'react';
import type { ConfigView } from '../../../../protocol/configs-api.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { relative, useNow } from '../../../ui/time.tsx';
import { showFailure } from '../../../ui/toast.tsx';
import { Field } from '../field.tsx';
import { PickerOption } from '../picker-option.tsx';
import { useCombobox } from '../use-combobox.ts';
import { type FoundConfigs, useConfigs } from './configs.ts';
import { type Draft, fromFolder, isReplaceable } from './draft.ts';
import { readFolderConfig } from './origins.ts';
import { type SubmitTranslator, useSubmitT } from './texts.tsx';

interface PickerProps {
  readonly draft: Draft;
  readonly error: string | undefined;
  readonly change: (part: Partial<Draft>) => void;
}

/** Searches the configs in the server's folder by name, and loads the selected one into the form. */
export function ConfigPicker({ draft, error, change }: PickerProps) {
  const t = useSubmitT();
  const name = draft.configName;
  const [reloads, setReloads] = useState(0);
  const { found, failure } = useConfigs(name.trim(), reloads);
  const entries = found?.entries ?? [];
  const box = useCombobox(
    entries.map(entry => entry.name),
    configName => change({ configName }),
    () => setReloads(was => was + 1),
  );
  const chosen = entries.find(entry => entry.name === name.trim()) ?? null;
  const load = useLoad(draft, change, chosen);
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
              {entries.map((entry, index) => (
                <PickerOption
                  key={entry.name}
                  {...box.option(index)}
                  name={entry.name}
                  isChosen={entry.name === name}
                  onChoose={() => box.take(entry.name)}
                >
                  <ConfigAbout entry={entry} />
                </PickerOption>
              ))}
            </div>
          </div>
        )}
      </Field>
      {isEmpty && <p className="note">{t('submit.folderEmpty', { folder: found.folder })}</p>}
      {typeof chosen?.problem === 'string' && <p className="trouble">{chosen.problem}</p>}
      {chosen !== null && !isReplaceable(draft) && draft.base?.name !== chosen.name && (
        <div>
          <Button onClick={() => void load(chosen.name)}>{t('submit.load', { name: chosen.name })}</Button>
        </div>
      )}
    </>
  );
}

/** Loads the selected config automatically, but only if the user has not changed the text. Returns the load function. */
function useLoad(draft: Draft, change: (part: Partial<Draft>) => void, chosen: ConfigView | null) {
  const t = useT();
  const { client } = usePanel();
  const latest = useRef(draft);
  latest.current = draft;
  const load = async (name: string): Promise<void> => {
    const read = await readFolderConfig(client, name);
    if (!read.ok) return showFailure(t, read.failure);
    // Ignore the answer if the user has typed another name since the request.
    if (read.value !== null && latest.current.configName.trim() === name)
      change(fromFolder(name, read.value));
  };
  const name = chosen?.name ?? null;
  const isWanted = isReplaceable(draft) && draft.base?.name !== name;
  const start = useRef(load);
  start.current = load;
  useEffect(() => {
    if (name !== null && isWanted) void start.current(name);
  }, [name, isWanted]);
  return load;
}

function hintOf(configs: FoundConfigs | null, t: SubmitTranslator): string {
  if (configs === null || configs.text === '') return t('jobs.submit.nameHint');
  if (configs.entries.length === 0) return t('submit.noneMatch');
  return configs.hasMore
    ? t('jobs.configs.more', { count: configs.entries.length })
    : t('jobs.submit.nameHint');
}

function ConfigAbout({ entry }: { readonly entry: ConfigView }) {
  const t = useT();
  const now = useNow(60_000);
  if (entry.problem !== null) return <span className="trouble">{entry.problem}</span>;
  const ago = relative(Date.parse(entry.changed_at), now, t.language);
  return <span className="muted">{aboutConfig(entry, ago, t)}</span>;
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
