import { useState } from 'react';
import type { DesktopApi, DesktopView } from '../../../../protocol/desktop-api.ts';
import { useT } from '../../../i18n/index.ts';
import { Dialog, DialogForm } from '../../../ui/dialog.tsx';

interface FleetDialogProps {
  /** Null when adding a fleet. */
  readonly fleet: DesktopView['fleets'][number] | null;
  readonly hasKeyring: boolean;
  readonly desktop: DesktopApi;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The address and the token of a remote orchestrator. */
export function FleetDialog({ fleet, hasKeyring, desktop, onDone, onClose }: FleetDialogProps) {
  const t = useT();
  const [given, setGiven] = useState({
    name: fleet?.name ?? '',
    url: fleet?.url ?? '',
    token: '',
    pin: fleet?.pin ?? '',
  });
  const save = async (): Promise<string | null> => {
    const { name, url, token } = given;
    const pin = given.pin.trim() === '' ? null : given.pin.trim();
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
  const field = (name: keyof typeof given) => ({
    value: given[name],
    autoComplete: 'off',
    onChange: (event: { readonly target: { readonly value: string } }) =>
      setGiven({ ...given, [name]: event.target.value }),
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
