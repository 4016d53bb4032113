import { useEffect, useState } from 'react';
import { systemApi } from '../../../protocol/admin-api.ts';
import { usePanel } from '../../app/context.ts';
import { isLanguage, languages, useT } from '../../i18n/index.ts';
import { usePreferences } from '../../state/preferences.ts';
import { Button } from '../../ui/button.tsx';

const themes = ['system', 'light', 'dark'] as const;

/** What this browser prefers, and what the server says of itself. */
export function SettingsPage() {
  const t = useT();
  const { preferences, signOut, baseUrl } = usePanel();
  const { theme, language } = usePreferences(preferences);
  const version = useVersion();
  return (
    <div className="page">
      <h1>{t('nav.settings')}</h1>
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
      </section>
      <section className="card" aria-labelledby="settings-server">
        <h2 id="settings-server">{t('settings.server')}</h2>
        <p>
          {t('settings.address')} <code>{baseUrl}</code>
        </p>
        <p>
          {t('settings.version')} <code>{version ?? t('time.none')}</code>
        </p>
        <div>
          <Button onClick={signOut}>{t('signOut')}</Button>
        </div>
      </section>
    </div>
  );
}

function useVersion(): string | null {
  const { client } = usePanel();
  const [version, setVersion] = useState<string | null>(null);
  useEffect(() => {
    const asking = new AbortController();
    void client.call(systemApi.version, { signal: asking.signal }).then(answer => {
      if (answer.ok && !asking.signal.aborted) setVersion(answer.value.version);
    });
    return () => asking.abort();
  }, [client]);
  return version;
}
