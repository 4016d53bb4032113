import { useState } from 'react';
import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import type { ChangeSettings } from '../../app/settings.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { SettingsForm } from './settings-form.tsx';

interface ThisMachineProps {
  readonly settings: SettingsView;
  readonly change: ChangeSettings;
}

/** Sets whether the server's own machine runs jobs, and with which options. */
export function ThisMachine({ settings, change }: ThisMachineProps) {
  const t = useT();
  const [isSending, setSending] = useState(false);
  const { local_worker: worker } = settings;
  const { enabled, state, fixed_by: by } = worker;
  const turn = async (): Promise<void> => {
    setSending(true);
    const answer = await change({ local_worker: { enabled: !enabled } });
    setSending(false);
    if (!answer.ok) showFailure(t, answer.failure);
  };
  return (
    <section className="card" aria-labelledby="settings-here">
      <h2 id="settings-here">{t('settings.here')}</h2>
      <p role="status">{t(`settings.here.${state}`)}</p>
      <Allowed call={settingsApi.change}>
        {by.enabled === null ? (
          <div>
            <Button disabled={isSending} onClick={() => void turn()}>
              {t(enabled ? 'settings.here.turnOff' : 'settings.here.turnOn')}
            </Button>
          </div>
        ) : (
          <p className="muted">{t('settings.fixed', { by: by.enabled })}</p>
        )}
        <p className="muted">{t(enabled ? 'settings.here.offSays' : 'settings.here.onSays')}</p>
        <WorkerForm key={`${worker.gpus} ${worker.trainer}`} worker={worker} change={change} />
      </Allowed>
    </section>
  );
}

interface WorkerFormProps {
  readonly worker: SettingsView['local_worker'];
  readonly change: ChangeSettings;
}

function WorkerForm({ worker, change }: WorkerFormProps) {
  const t = useT();
  const { fixed_by: by, command_allowed: isAllowed } = worker;
  const [gpus, setGpus] = useState(worker.gpus ?? '');
  const [trainer, setTrainer] = useState(worker.trainer ?? '');
  const isTrainerFixed = by.trainer !== null || !isAllowed;
  const isSame = gpus.trim() === (worker.gpus ?? '') && trainer.trim() === (worker.trainer ?? '');
  const newSettings = {
    ...(by.gpus === null && { gpus: orNull(gpus) }),
    ...(!isTrainerFixed && { trainer: orNull(trainer) }),
  };
  return (
    <SettingsForm wanted={{ local_worker: newSettings }} isSame={isSame} change={change}>
      <label>
        {t('settings.here.gpus')}
        <input
          value={gpus}
          disabled={by.gpus !== null}
          inputMode="numeric"
          pattern="\s*\d+\s*(,\s*\d+\s*)*"
          placeholder="0,1"
          autoComplete="off"
          onChange={event => setGpus(event.target.value)}
        />
        <span className="muted">
          {by.gpus === null ? t('settings.here.gpusHint') : t('settings.fixed', { by: by.gpus })}
        </span>
      </label>
      <label>
        {t('settings.here.trainer')}
        <input
          className="mono"
          value={trainer}
          disabled={isTrainerFixed}
          placeholder="simpletuner"
          autoComplete="off"
          spellCheck={false}
          onChange={event => setTrainer(event.target.value)}
        />
        <span className="muted">
          {!isTrainerFixed && t('settings.here.trainerHint')}
          {by.trainer !== null && t('settings.fixed', { by: by.trainer })}
          {by.trainer === null && !isAllowed && t('settings.here.trainerElsewhere')}
        </span>
      </label>
      {worker.enabled && <p className="muted">{t('settings.here.restarts')}</p>}
    </SettingsForm>
  );
}

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());
