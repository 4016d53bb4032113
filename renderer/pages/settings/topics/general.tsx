import { desktop } from '../../../app/desktop.tsx';
import { usePanel } from '../../../app/context.ts';
import type { SettingsState } from '../../../app/settings.tsx';
import { isLanguage, languages, useT } from '../../../i18n/index.ts';
import { usePreferences } from '../../../state/stores.ts';
import { Account } from '../account.tsx';
import { PhoneAccess } from '../../workers/join/phone.tsx';
import { useSettingsT } from '../texts.tsx';
import { DesktopSettings } from '../desktop/desktop.tsx';

/** The signed-in user, the preferences of this browser, the desktop app or phone access, and the connected server. */
export function General({ settings }: SettingsState) {
  const t = useSettingsT();
  const { baseUrl } = usePanel();
  return (
    <>
      <Account />
      <Preferences />
      {desktop !== null && <DesktopSettings desktop={desktop} />}
      {desktop === null && (
        <section className="card" aria-labelledby="settings-phone">
          <h2 id="settings-phone">{t('topics.phone')}</h2>
          <PhoneAccess />
        </section>
      )}
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
    </>
  );
}

const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

const themes = ['system', 'light', 'dark'] as const;

function Preferences() {
  const t = useT();
  const { preferences } = usePanel();
  const { theme, language, zone } = usePreferences(preferences);
  return (
    <section className="card" aria-labelledby="settings-looks">
      <h2 id="settings-looks">{t('settings.looks')}</h2>
      <label>
        {t('settings.theme')}
        <select
          id="settings-theme"
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
          id="settings-language"
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
          id="settings-zone"
          value={zone}
          onChange={event => preferences.setState({ zone: event.target.value === 'utc' ? 'utc' : 'local' })}
        >
          <option value="local">{t('settings.zone.local', { zone: ownZone })}</option>
          <option value="utc">{t('settings.zone.utc')}</option>
        </select>
      </label>
    </section>
  );
}
