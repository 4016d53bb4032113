import { workersApi } from '../../../../protocol/admin-api.ts';
import { Allowed } from '../../../app/guarded.tsx';
import type { SettingsState } from '../../../app/settings.tsx';
import { Electricity } from '../electricity.tsx';
import { GpuTrouble } from '../gpu-trouble.tsx';
import { LinkCard } from '../link-card.tsx';
import { useSettingsT } from '../texts.tsx';
import { ThisMachine } from '../this-machine.tsx';

export function WorkersTopic({ settings, change }: SettingsState) {
  const t = useSettingsT();
  return (
    <>
      {settings !== null && <ThisMachine settings={settings} change={change} />}
      {settings !== null && <GpuTrouble kinds={settings.gpu_troubles} change={change} />}
      {settings !== null && <Electricity electricity={settings.electricity} change={change} />}
      <Allowed call={workersApi.list}>
        <LinkCard
          id="settings-workers"
          title={t('topics.workers.title')}
          href="/workers"
          link={t('topics.workers.page')}
        >
          <p className="muted">{t('topics.workers.explain')}</p>
        </LinkCard>
      </Allowed>
    </>
  );
}
