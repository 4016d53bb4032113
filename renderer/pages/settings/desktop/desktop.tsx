import { useState } from 'react';
import type { DesktopApi, DesktopView } from '../../../../protocol/desktop-api.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { FleetDialog } from './fleet-dialog.tsx';
import { type Ask, useDesktop } from './use-desktop.ts';
import './desktop.css';

type Fleet = DesktopView['fleets'][number];

/** Settings of the desktop app: its notifications, and the fleets that it can show. */
export function DesktopSettings({ desktop }: { readonly desktop: DesktopApi }) {
  const { view, ask } = useDesktop(desktop);
  if (view === null) return null;
  return (
    <>
      <Habits view={view} ask={ask} desktop={desktop} />
      <Fleets view={view} ask={ask} desktop={desktop} />
    </>
  );
}

interface PartProps {
  readonly view: DesktopView;
  readonly ask: Ask;
  readonly desktop: DesktopApi;
}

const kinds = ['job_completed', 'job_failed', 'worker_lost'] as const;

function Habits({ view, ask, desktop }: PartProps) {
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

function Fleets({ view, ask, desktop }: PartProps) {
  const t = useT();
  /** The fleet being edited; `new` when adding one. */
  const [open, setOpen] = useState<Fleet | 'new' | null>(null);
  const [leaving, setLeaving] = useState<Fleet | null>(null);
  const here = t('desktop.fleets.here');
  const show = (id: string | null): void => ask(() => desktop.show(id));
  return (
    <section className="card" aria-labelledby="settings-fleets">
      <h2 id="settings-fleets">{t('desktop.fleets')}</h2>
      <p className="muted">{t('desktop.fleets.what')}</p>
      <ul className="plain-list settings-fleets">
        <li className="settings-fleet">
          <strong>{here}</strong>
          <Shown name={here} isShown={view.shown === null} trouble={view.trouble} onShow={() => show(null)} />
        </li>
        {view.fleets.map(fleet => (
          <li key={fleet.id} className="settings-fleet">
            <strong translate="no">{fleet.name}</strong>
            <code>{fleet.url}</code>
            <Shown
              name={fleet.name}
              isShown={view.shown === fleet.id}
              trouble={view.trouble}
              onShow={() => show(fleet.id)}
            />
            <Button
              kind="quiet"
              aria-label={t('desktop.fleets.change.of', { name: fleet.name })}
              onClick={() => setOpen(fleet)}
            >
              {t('desktop.fleets.change')}
            </Button>
            {view.shown !== fleet.id && (
              <Button
                kind="quiet"
                aria-label={t('desktop.fleets.remove.of', { name: fleet.name })}
                onClick={() => setLeaving(fleet)}
              >
                {t('desktop.fleets.remove')}
              </Button>
            )}
            <p className="muted">
              {t(`desktop.fleets.${fleet.token}`)} {fleet.pin !== null && t('desktop.fleets.pinned')}
            </p>
          </li>
        ))}
      </ul>
      <div>
        <Button onClick={() => setOpen('new')}>{t('desktop.fleets.add')}</Button>
      </div>
      {open !== null && (
        <FleetDialog
          fleet={open === 'new' ? null : open}
          hasKeyring={view.has_keyring}
          desktop={desktop}
          onDone={() => ask(desktop.view)}
          onClose={() => setOpen(null)}
        />
      )}
      {leaving !== null && (
        <Confirm
          title={t('desktop.fleets.remove.title', { name: leaving.name })}
          consequence={t('desktop.fleets.remove.consequence')}
          act={t('desktop.fleets.remove')}
          onConfirm={() => ask(() => desktop.removeFleet(leaving.id))}
          onClose={() => setLeaving(null)}
        />
      )}
    </section>
  );
}

interface ShownProps {
  readonly name: string;
  readonly isShown: boolean;
  readonly trouble: string | null;
  readonly onShow: () => void;
}

function Shown({ name, isShown, trouble, onShow }: ShownProps) {
  const t = useT();
  if (!isShown)
    return (
      <Button aria-label={t('desktop.fleets.show.of', { name })} onClick={onShow}>
        {t('desktop.fleets.show')}
      </Button>
    );
  return (
    <span role="status">
      {t('desktop.fleets.shown')}
      {trouble !== null && (
        <span className="trouble"> {t('desktop.fleets.trouble', { detail: trouble })}</span>
      )}
    </span>
  );
}
