import { useCallback, useEffect, useState } from 'react';
import type { DesktopApi, DesktopView } from '../../../../protocol/desktop-api.ts';
import { useT } from '../../../i18n/index.ts';
import { showTrouble } from '../../../ui/toast.tsx';
import { type Ask, Fleets } from './fleets.tsx';
import './desktop.css';

/** Settings of the desktop app: its notifications, and the fleets that it can show. */
export function DesktopSettings({ desktop }: { readonly desktop: DesktopApi }) {
  const { view, ask } = useDesktop(desktop);
  if (view === null) return null;
  return (
    <>
      <AppPreferences view={view} ask={ask} desktop={desktop} />
      <Fleets view={view} ask={ask} desktop={desktop} />
    </>
  );
}

interface AppPreferencesProps {
  readonly view: DesktopView;
  readonly ask: Ask;
  readonly desktop: DesktopApi;
}

const kinds = ['job_completed', 'job_failed', 'worker_lost'] as const;

function AppPreferences({ view, ask, desktop }: AppPreferencesProps) {
  const t = useT();
  const { notices, open_at_login: atLogin, runs_own: runsOwn, shown } = view;
  return (
    <section className="card" aria-labelledby="settings-app">
      <h2 id="settings-app">{t('desktop.title')}</h2>
      <fieldset className="settings-notices">
        <legend>{t('desktop.notices')}</legend>
        {kinds.map(kind => (
          <Switch
            key={kind}
            label={t(`desktop.notices.${kind}`)}
            isOn={notices[kind]}
            onTurn={isOn => ask(() => desktop.change({ notices: { [kind]: isOn } }))}
          />
        ))}
      </fieldset>
      {atLogin !== null && (
        <Switch
          label={t('desktop.atLogin')}
          isOn={atLogin}
          onTurn={isOn => ask(() => desktop.change({ open_at_login: isOn }))}
        />
      )}
      <Switch
        label={t('desktop.runsOwn')}
        isOn={runsOwn}
        isFixed={shown === null}
        onTurn={isOn => ask(() => desktop.change({ runs_own: isOn }))}
      />
      <p className="muted">{t('desktop.runsOwn.note')}</p>
    </section>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly isFixed?: boolean;
  readonly onTurn: (isOn: boolean) => void;
}

const Switch = ({ label, isOn, isFixed = false, onTurn }: SwitchProps) => (
  <label className="settings-switch">
    <input
      type="checkbox"
      checked={isOn}
      disabled={isFixed}
      onChange={event => onTurn(event.target.checked)}
    />
    {label}
  </label>
);

function useDesktop(desktop: DesktopApi): { readonly view: DesktopView | null; readonly ask: Ask } {
  const t = useT();
  const [view, setView] = useState<DesktopView | null>(null);
  const ask = useCallback<Ask>(
    act =>
      void act().then(answer => {
        if (answer.ok) setView(answer.view);
        else showTrouble(t, answer.detail);
      }),
    [t],
  );
  useEffect(() => ask(desktop.view), [ask, desktop]);
  return { view, ask };
}
