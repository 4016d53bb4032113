import { useState } from 'react';
import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { GpuTroubleKind } from '../../../protocol/worker.ts';
import { Allowed } from '../../app/guarded.tsx';
import type { ChangeSettings } from '../../app/settings.tsx';
import { useT } from '../../i18n/index.ts';
import { SettingsForm } from './settings-form.tsx';

interface GpuTroubleProps {
  readonly kinds: SettingsView['gpu_troubles'];
  readonly change: ChangeSettings;
}

/** Selects the kinds of GPU problems that prevent new jobs on a worker. */
export function GpuTrouble({ kinds, change }: GpuTroubleProps) {
  const t = useT();
  const activeKinds = GpuTroubleKind.options.filter(kind => kinds[kind]);
  return (
    <section className="card" aria-labelledby="settings-gpu-trouble">
      <h2 id="settings-gpu-trouble">{t('gpuTrouble.title')}</h2>
      <p>{t(activeKinds.length === 0 ? 'gpuTrouble.none' : 'gpuTrouble.some')}</p>
      <Allowed call={settingsApi.change}>
        <GpuTroubleForm key={activeKinds.join()} kinds={kinds} change={change} />
      </Allowed>
      <p className="muted">{t('gpuTrouble.what')}</p>
    </section>
  );
}

function GpuTroubleForm({ kinds, change }: GpuTroubleProps) {
  const t = useT();
  const [newKinds, setNewKinds] = useState(kinds);
  const isSame = GpuTroubleKind.options.every(kind => newKinds[kind] === kinds[kind]);
  return (
    <SettingsForm wanted={{ gpu_troubles: newKinds }} isSame={isSame} change={change}>
      {GpuTroubleKind.options.map(kind => (
        <label key={kind} className="settings-switch">
          <input
            type="checkbox"
            checked={newKinds[kind]}
            onChange={event => setNewKinds({ ...newKinds, [kind]: event.target.checked })}
          />
          {t(`gpuTrouble.${kind}`)}
        </label>
      ))}
    </SettingsForm>
  );
}
