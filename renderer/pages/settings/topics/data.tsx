import { backupApi } from '../../../../protocol/backup-api.ts';
import { datasetsApi } from '../../../../protocol/datasets-api.ts';
import type { SettingsView } from '../../../../protocol/settings-api.ts';
import { Allowed } from '../../../app/guarded.tsx';
import type { SettingsState } from '../../../app/settings.tsx';
import { useT } from '../../../i18n/index.ts';
import { Backups } from '../backups.tsx';
import { LinkCard } from '../link-card.tsx';
import { Retention } from '../retention.tsx';
import { PathLine } from '../settings-form.tsx';
import { useSettingsT } from '../texts.tsx';

/** The folders of the server, its backups, the retention of audit rows, and a link to the datasets. */
export function DataTopic({ settings, change }: SettingsState) {
  const t = useSettingsT();
  return (
    <>
      {settings !== null && <Folders settings={settings} />}
      <Allowed call={backupApi.list}>
        <Backups />
      </Allowed>
      {settings !== null && <Retention audit={settings.audit} change={change} />}
      <Allowed call={datasetsApi.list}>
        <LinkCard id="settings-data" title={t('topics.data.title')} href="/data" link={t('topics.data.page')}>
          <p className="muted">{t('topics.data.explain')}</p>
        </LinkCard>
      </Allowed>
    </>
  );
}

function Folders({ settings }: { readonly settings: SettingsView }) {
  const t = useT();
  return (
    <section className="card" aria-labelledby="settings-folders">
      <h2 id="settings-folders">{t('settings.folders')}</h2>
      <dl className="settings-folders">
        <dt>{t('settings.folders.configs')}</dt>
        <dd>
          <PathLine text={settings.configs_dir} />
        </dd>
        <dt>{t('settings.folders.data')}</dt>
        <dd>
          <PathLine text={settings.data_dir} />
        </dd>
      </dl>
    </section>
  );
}
