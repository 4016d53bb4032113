import { useMemo, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { DesktopAnswer, DesktopApi, DesktopView } from '../../../../protocol/desktop-api.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Confirm, Dialog, DialogForm } from '../../../ui/dialog.tsx';

type Fleet = DesktopView['fleets'][number];

/** Performs an action of the desktop app. Shows the new state of the app, or the error. */
export type Perform = (act: () => Promise<DesktopAnswer>) => void;

interface FleetsProps {
  readonly view: DesktopView;
  readonly perform: Perform;
  readonly desktop: DesktopApi;
}

export function Fleets({ view, perform, desktop }: FleetsProps) {
  const t = useT();
  /** The fleet that is being edited, or `new` while one is being added; null when the dialog is closed. */
  const [open, setOpen] = useState<Fleet | 'new' | null>(null);
  const [removing, setRemoving] = useState<Fleet | null>(null);
  const { offered, forgetOffer } = useOfferedFleet();
  const close = (): void => {
    setOpen(null);
    forgetOffer();
  };
  const here = t('desktop.fleets.here');
  const show = (id: string | null): void => perform(() => desktop.show(id));
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
                onClick={() => setRemoving(fleet)}
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
      {(open !== null || offered !== null) && (
        <FleetDialog
          fleet={open === 'new' ? null : open}
          offered={open === null ? offered : null}
          hasKeyring={view.has_keyring}
          desktop={desktop}
          onDone={() => perform(desktop.view)}
          onClose={close}
        />
      )}
      {removing !== null && (
        <Confirm
          title={t('desktop.fleets.remove.title', { name: removing.name })}
          consequence={t('desktop.fleets.remove.consequence')}
          act={t('desktop.fleets.remove')}
          onConfirm={() => perform(() => desktop.removeFleet(removing.id))}
          onClose={() => setRemoving(null)}
        />
      )}
    </section>
  );
}

interface OfferedFleet {
  readonly url: string;
  readonly pin: string;
}

/** Returns the fleet from a `trainyard://join` link; null for none. The app passes the fleet in the URL of the page. */
function useOfferedFleet(): { readonly offered: OfferedFleet | null; readonly forgetOffer: () => void } {
  const search = useSearch();
  const [path, go] = useLocation();
  const offered = useMemo(() => {
    const query = new URLSearchParams(search);
    const url = query.get('add_fleet');
    return url === null ? null : { url, pin: query.get('pin') ?? '' };
  }, [search]);
  return {
    offered,
    forgetOffer() {
      if (offered !== null) go(path, { replace: true });
    },
  };
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');

interface ShownProps {
  readonly name: string;
  readonly isShown: boolean;
  readonly trouble: string | null;
  readonly onShow: () => void;
}

/** Labels the shown fleet, with the connection error if there is one. Other fleets have a button that shows them. */
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

interface FleetDialogProps {
  /** The fleet to edit; null to add one. */
  readonly fleet: Fleet | null;
  /** Initial values of the form for a new fleet; null for an empty form. */
  readonly offered: OfferedFleet | null;
  readonly hasKeyring: boolean;
  readonly desktop: DesktopApi;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** A form for the name, URL, token and certificate pin of a remote orchestrator. */
function FleetDialog({ fleet, offered, hasKeyring, desktop, onDone, onClose }: FleetDialogProps) {
  const t = useT();
  const [fields, setFields] = useState({
    name: fleet?.name ?? hostOf(offered?.url ?? ''),
    url: fleet?.url ?? offered?.url ?? '',
    token: '',
    pin: fleet?.pin ?? offered?.pin ?? '',
  });
  const save = async (): Promise<string | null> => {
    const { name, url, token } = fields;
    const pin = fields.pin.trim() === '' ? null : fields.pin.trim();
    const answer =
      fleet === null
        ? await desktop.addFleet({ name, url, token, pin })
        : await desktop.changeFleet({
            id: fleet.id,
            name,
            url,
            pin,
            ...(token.trim() === '' ? {} : { token }),
          });
    if (!answer.ok) return answer.detail;
    onDone();
    onClose();
    return null;
  };
  const field = (name: keyof typeof fields) => ({
    value: fields[name],
    autoComplete: 'off',
    onChange: (event: { readonly target: { readonly value: string } }) =>
      setFields({ ...fields, [name]: event.target.value }),
  });
  return (
    <Dialog title={fleet?.name ?? t('desktop.fleets.add')} onClose={onClose} staysOpen>
      <DialogForm act={t('desktop.fleet.save')} send={save} onClose={onClose}>
        <label>
          {t('desktop.fleet.name')}
          <input required maxLength={100} {...field('name')} />
        </label>
        <label>
          {t('desktop.fleet.url')}
          <input required maxLength={500} placeholder="https://workstation:8001" {...field('url')} />
        </label>
        <label>
          {t('desktop.fleet.token')}
          <input type="password" required={fleet === null} maxLength={512} {...field('token')} />
          {fleet !== null && <span className="muted">{t('desktop.fleet.token.keep')}</span>}
        </label>
        <p className="muted">{t(hasKeyring ? 'desktop.fleets.sealed' : 'desktop.fleets.plain')}</p>
        <label>
          {t('desktop.fleet.pin')}
          <input maxLength={200} placeholder="sha256:…" {...field('pin')} />
          <span className="muted">{t('desktop.fleet.pin.note')}</span>
        </label>
      </DialogForm>
    </Dialog>
  );
}
