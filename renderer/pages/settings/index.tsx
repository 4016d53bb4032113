import type { SettingsView } from '../../../protocol/settings-api.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { usePanel } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { desktop } from '../../app/desktop.tsx';
import { useSettings } from '../../app/settings.tsx';
import { isLanguage, languages, useT } from '../../i18n/index.ts';
import { usePreferences } from '../../state/stores.ts';
import { Backups } from './backups.tsx';
import { DesktopSettings } from './desktop/desktop.tsx';
import { GpuTrouble } from './gpu-trouble.tsx';
import { Network } from './network.tsx';
import { Retention } from './retention.tsx';
import { ThisMachine } from './this-machine.tsx';
import { Sessions, Account } from './account.tsx';
import './settings.css';
import { Tokens } from './tokens.tsx';
import { PathLine } from './settings-form.tsx';
import { backupApi } from '../../../protocol/backup-api.ts';

const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

const themes = ['system', 'light', 'dark'] as const;

/** The preferences of this browser and the settings of the server. */
export function SettingsPage() {
  const t = useT();
  const { preferences, baseUrl } = usePanel();
  const { theme, language, zone } = usePreferences(preferences);
  const { settings, change } = useSettings();
  return (
    <div className="page">
      <h1>{t('nav.settings')}</h1>
      <Account />
      {desktop !== null && <DesktopSettings desktop={desktop} />}
      <section className="card" aria-labelledby="settings-looks">
        <h2 id="settings-looks">{t('settings.looks')}</h2>
        <label>
          {t('settings.theme')}
          <select
            value={theme}
            onChange={event => {
              const chosen = themes.find(name => name === event.target.value);
              if (chosen !== undefined) preferences.setState({ theme: chosen });
            }}
          >
            {themes.map(name => (
              <option key={name} value={name}>
                {t(`settings.theme.${name}`)}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t('settings.language')}
          <select
            value={language}
            onChange={event => {
              const chosen = event.target.value;
              if (isLanguage(chosen)) preferences.setState({ language: chosen });
            }}
          >
            {Object.entries(languages).map(([tag, name]) => (
              <option key={tag} value={tag} lang={tag}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t('settings.zone')}
          <select
            value={zone}
            onChange={event => preferences.setState({ zone: event.target.value === 'utc' ? 'utc' : 'local' })}
          >
            <option value="local">{t('settings.zone.local', { zone: ownZone })}</option>
            <option value="utc">{t('settings.zone.utc')}</option>
          </select>
        </label>
      </section>
      {settings !== null && <Network settings={settings} change={change} />}
      {settings !== null && <ThisMachine settings={settings} change={change} />}
      {settings !== null && <GpuTrouble kinds={settings.gpu_troubles} change={change} />}
      {settings !== null && <Folders settings={settings} />}
      <Access />
      <Allowed call={backupApi.list}>
        <Backups />
      </Allowed>
      {settings !== null && <Retention audit={settings.audit} change={change} />}
      <section className="card" aria-labelledby="settings-server">
        <h2 id="settings-server">{t('settings.server')}</h2>
        <p>
          {t('settings.address')} <code>{baseUrl}</code>
        </p>
        {settings !== null && (
          <p>
            {t('settings.version')} <code>{settings.version}</code>
          </p>
        )}
      </section>
    </div>
  );
}

/** API tokens, and the browser sessions that were opened with them. */
function Access() {
  return (
    <>
      <Allowed call={tokensApi.list}>
        <Tokens />
      </Allowed>
      <Allowed call={sessionApi.list}>
        <Sessions />
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
