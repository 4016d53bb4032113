import { useState } from 'react';
import type { ConfigView } from '../../../protocol/configs-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { relative, useNow } from '../../ui/time.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { ConfigText } from './config-parts.tsx';
import { aboutConfig } from './config-words.ts';
import { type Draft, type Training, written } from './draft.ts';
import { readTraining } from './use-configs.ts';

interface ChosenProps {
  readonly entry: ConfigView;
  readonly change: (part: Partial<Draft>) => void;
}

/** Shows the selected config, and can copy it into the form for a one-time edit. */
export function ChosenConfig({ entry, change }: ChosenProps) {
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
    change({ ...written(found), base: { name, etag, config: found.config } });
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
