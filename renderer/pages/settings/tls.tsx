import { useState } from 'react';
import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import type { ChangeSettings } from '../../app/settings.tsx';
import { useT } from '../../i18n/index.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { Time } from '../../ui/time.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { PathLine } from './settings-form.tsx';

interface TlsProps {
  readonly network: SettingsView['network'];
  readonly change: ChangeSettings;
}

/** Sets whether other machines must connect with TLS, and shows the server's certificate. */
export function Tls({ network, change }: TlsProps) {
  const t = useT();
  const { tls, tls_fixed_by: fixedBy, shared } = network;
  const [isConfirming, setConfirming] = useState(false);
  const [isSending, setSending] = useState(false);
  const isOn = tls !== null;
  const turn = async (): Promise<void> => {
    setConfirming(false);
    setSending(true);
    const answer = await change({ tls: !isOn });
    setSending(false);
    if (!answer.ok) showFailure(t, answer.failure);
  };
  return (
    <div className="settings-tls">
      <h3 id="settings-tls">{t('settings.tls')}</h3>
      <Allowed call={settingsApi.change}>
        <label className="settings-switch">
          <input
            type="checkbox"
            role="switch"
            checked={isOn}
            disabled={isSending || fixedBy !== null}
            aria-describedby="settings-tls-says"
            onChange={() => (shared ? setConfirming(true) : void turn())}
          />
          {t('settings.tls.switch')}
        </label>
      </Allowed>
      <p id="settings-tls-says" className="muted">
        {t(isOn ? 'settings.tls.on' : 'settings.tls.off')}
      </p>
      {fixedBy !== null && <p className="muted">{t('settings.fixed', { by: fixedBy })}</p>}
      {tls !== null && <Certificate tls={tls} />}
      {isConfirming && (
        <Confirm
          title={t(isOn ? 'settings.tls.askOff' : 'settings.tls.askOn')}
          consequence={t('settings.tls.consequence')}
          act={t(isOn ? 'settings.tls.turnOff' : 'settings.tls.turnOn')}
          onConfirm={() => void turn()}
          onClose={() => setConfirming(false)}
        >
          <p>{t('settings.tls.anew')}</p>
        </Confirm>
      )}
    </div>
  );
}

function Certificate({ tls }: { readonly tls: NonNullable<SettingsView['network']['tls']> }) {
  const t = useT();
  const { source, pin, fingerprint, expires_at: until, names } = tls;
  return (
    <>
      <dl className="settings-folders">
        <dt>{t('settings.tls.fingerprint')}</dt>
        <dd>
          <PathLine text={fingerprint} />
        </dd>
        <dt>{t('settings.tls.pin')}</dt>
        <dd>
          <PathLine text={pin} />
        </dd>
        <dt>{t('settings.tls.until')}</dt>
        <dd>
          <Time at={until} style="absolute" />
        </dd>
        <dt>{t('settings.tls.names')}</dt>
        <dd className="settings-names mono">{names.join(', ')}</dd>
      </dl>
      <p className="muted">{t(`settings.tls.${source}`)}</p>
    </>
  );
}
