import { useState } from 'react';
import type { SettingsView } from '../../../protocol/settings-api.ts';
import { detailOf } from '../../api/client.ts';
import type { ChangeSettings } from '../../app/settings.ts';
import { ShareTerms } from '../../app/share-terms.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';

interface ShareStepProps {
  readonly network: SettingsView['network'];
  readonly change: ChangeSettings;
  readonly onSkip: () => void;
}

/** Shares the orchestrator, so that other machines can reach it. The step ends once it is shared. */
export function ShareStep({ network, change, onSkip }: ShareStepProps) {
  const t = useT();
  const { tls, tls_fixed_by: tlsFixedBy } = network;
  const isSecure = tls !== null;
  const [withTls, setWithTls] = useState(isSecure || tlsFixedBy === null);
  const [isAsking, setAsking] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const share = async (): Promise<void> => {
    setAsking(true);
    const answer = await change({ shared: true, ...(withTls !== isSecure && { tls: withTls }) });
    setAsking(false);
    if (!answer.ok) setTrouble(detailOf(answer.failure) ?? t('error.unreachable'));
  };
  return (
    <>
      <p>{t('workers.share.private')}</p>
      <ShareTerms withTls={withTls} isTlsFixed={tlsFixedBy !== null} onChange={setWithTls} />
      {trouble !== null && (
        <p role="alert" className="trouble">
          {trouble}
        </p>
      )}
      <footer className="dialog-foot">
        <Button onClick={onSkip}>{t('workers.share.notNow')}</Button>
        <Button kind="primary" disabled={isAsking} onClick={() => void share()}>
          {t('settings.share')}
        </Button>
      </footer>
    </>
  );
}
