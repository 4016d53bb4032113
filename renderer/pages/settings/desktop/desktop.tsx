import { useCallback, useEffect, useState } from 'react';
import type { DesktopApi, DesktopView } from '../../../../protocol/desktop-api.ts';
import { useT } from '../../../i18n/index.ts';
import { showTrouble } from '../../../ui/toast.tsx';
import { Fleets, type Perform } from './fleets.tsx';
import { Update } from './update.tsx';
import './desktop.css';

/** Settings of the desktop app: notifications, start at login, updates and fleets. */
export function DesktopSettings({ desktop }: { readonly desktop: DesktopApi }) {
  const { view, perform } = useDesktop(desktop);
  if (view === null) return null;
  return (
    <>
      <AppPreferences view={view} perform={perform} desktop={desktop} />
      {view.update !== null && (
        <Update version={view.version} update={view.update} perform={perform} desktop={desktop} />
      )}
      <Fleets view={view} perform={perform} desktop={desktop} />
    </>
  );
}

interface AppPreferencesProps {
  readonly view: DesktopView;
  readonly perform: Perform;
  readonly desktop: DesktopApi;
}

const kinds = ['job_completed', 'job_failed', 'worker_lost'] as const;

function AppPreferences({ view, perform, desktop }: AppPreferencesProps) {
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
            onTurn={isOn => perform(() => desktop.change({ notices: { [kind]: isOn } }))}
          />
        ))}
      </fieldset>
      {atLogin !== null && (
        <Switch
          label={t('desktop.atLogin')}
          isOn={atLogin}
          onTurn={isOn => perform(() => desktop.change({ open_at_login: isOn }))}
        />
      )}
      <Switch
        label={t('desktop.runsOwn')}
        isOn={runsOwn}
        isFixed={shown === null}
        onTurn={isOn => perform(() => desktop.change({ runs_own: isOn }))}
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

function useDesktop(desktop: DesktopApi): { readonly view: DesktopView | null; readonly perform: Perform } {
  const t = useT();
  const [view, setView] = useState<DesktopView | null>(null);
  const perform = useCallback<Perform>(
    act =>
      void act().then(answer => {
        if (answer.ok) setView(answer.view);
        else showTrouble(t, answer.detail);
      }),
    [t],
  );
  useEffect(() => perform(desktop.view), [perform, desktop]);
  return { view, perform };
}
