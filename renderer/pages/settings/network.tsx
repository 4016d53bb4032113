import { useState } from 'react';
import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { useFleet } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { type ChangeSettings, ShareTerms } from '../../app/settings.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { SettingsForm, PathLine } from './settings-form.tsx';
import { Tls } from './tls.tsx';

interface NetworkProps {
  readonly settings: SettingsView;
  readonly change: ChangeSettings;
}

/** Shows which machines can reach the orchestrator, and at which addresses. */
export function Network({ settings, change }: NetworkProps) {
  const t = useT();
  const { shared, fixed_by: fixedBy, addresses, tls, tls_fixed_by: tlsFixedBy } = settings.network;
  const open = addresses.filter(({ listening, note }) => listening && note !== 'loopback');
  return (
    <section className="card" aria-labelledby="settings-network">
      <h2 id="settings-network">{t('settings.network')}</h2>
      <p>{t(shared ? 'settings.network.shared' : 'settings.network.private')}</p>
      {shared && (
        <ul className="settings-list">
          {open.map(({ url, interface: name, note }) => (
            <li key={url}>
              <PathLine text={url} note={note === null ? name : t(`settings.note.${note}`, { name })} />
            </li>
          ))}
        </ul>
      )}
      {shared && open.length === 0 && <p className="muted">{t('settings.network.noAddress')}</p>}
      {shared && tls === null && <p className="muted">{t('settings.share.warning')}</p>}
      {fixedBy === null ? (
        <Allowed call={settingsApi.change}>
          <Sharing
            isShared={shared}
            isSecure={tls !== null}
            isTlsFixed={tlsFixedBy !== null}
            change={change}
          />
        </Allowed>
      ) : (
        <p className="muted">{t('settings.fixed', { by: fixedBy })}</p>
      )}
      <Tls network={settings.network} change={change} />
      {settings.public_url_fixed_by === null ? (
        <Allowed call={settingsApi.change}>
          <PublicUrl key={settings.public_url} url={settings.public_url ?? ''} change={change} />
        </Allowed>
      ) : (
        <>
          <p id="settings-public-url">
            {t('settings.publicUrl')}: <code>{settings.public_url}</code>
          </p>
          <p className="muted">{t('settings.fixed', { by: settings.public_url_fixed_by })}</p>
        </>
      )}
    </section>
  );
}

interface SharingProps {
  readonly isShared: boolean;
  readonly isSecure: boolean;
  readonly isTlsFixed: boolean;
  readonly change: ChangeSettings;
}

function Sharing({ isShared, isSecure, isTlsFixed, change }: SharingProps) {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  const [withTls, setWithTls] = useState(isSecure || !isTlsFixed);
  const [isSending, setSending] = useState(false);
  const close = (): void => setOpen(false);
  const set = async (shared: boolean): Promise<void> => {
    setSending(true);
    const answer = await change({ shared, ...(shared && withTls !== isSecure && { tls: withTls }) });
    setSending(false);
    close();
    if (!answer.ok) showFailure(t, answer.failure);
  };
  return (
    <div>
      <Button disabled={isSending} onClick={() => setOpen(true)}>
        {t(isShared ? 'settings.unshare' : 'settings.share')}
      </Button>
      {isOpen && isShared && <Unshare onConfirm={() => void set(false)} onClose={close} />}
      {isOpen && !isShared && (
        <Dialog title={t('settings.share.title')} onClose={close}>
          <ShareTerms withTls={withTls} isTlsFixed={isTlsFixed} onChange={setWithTls} />
          <p className="muted">{t('settings.share.signIn')}</p>
          <footer className="dialog-foot">
            <Button onClick={close}>{t('action.cancel')}</Button>
            <Button kind="primary" disabled={isSending} onClick={() => void set(true)}>
              {t('settings.share')}
            </Button>
          </footer>
        </Dialog>
      )}
    </div>
  );
}

interface UnshareProps {
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

function Unshare({ onConfirm, onClose }: UnshareProps) {
  const t = useT();
  const workers = useFleet(({ fleet }) => fleet.workers);
  const count = [...workers.values()].filter(
    ({ local, status, registered_at: at }) => !local && at !== null && status !== 'offline',
  ).length;
  return (
    <Confirm
      title={t('settings.unshare.title')}
      consequence={t('settings.unshare.consequence')}
      act={t('settings.unshare')}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>{t('settings.unshare.workers', { count })}</p>
    </Confirm>
  );
}

function PublicUrl({ url, change }: { readonly url: string; readonly change: ChangeSettings }) {
  const t = useT();
  const [text, setText] = useState(url);
  const newUrl = text.trim();
  return (
    <SettingsForm
      wanted={{ public_url: newUrl === '' ? null : newUrl }}
      isSame={newUrl === url}
      change={change}
    >
      <label>
        {t('settings.publicUrl')}
        <input
          type="url"
          placeholder="https://yard.example.org"
          autoComplete="off"
          value={text}
          id="settings-public-url"
          aria-describedby="settings-public-url-hint"
          onChange={event => setText(event.target.value)}
        />
      </label>
      <p id="settings-public-url-hint" className="muted">
        {t('settings.publicUrl.hint')}
      </p>
    </SettingsForm>
  );
}
