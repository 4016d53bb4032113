import { useState } from 'react';
import { detailOf } from '../../api/client.ts';
import type { ChangeSettings } from '../../app/settings.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';

interface ShareStepProps {
  readonly change: ChangeSettings;
  readonly onSkip: () => void;
}

/** Before a worker of another machine can join, the orchestrator must be there for it. Once it is, this is over. */
export function ShareStep({ change, onSkip }: ShareStepProps) {
  const t = useT();
  const [isAsking, setAsking] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const share = async (): Promise<void> => {
    setAsking(true);
    const answer = await change({ shared: true });
    setAsking(false);
    if (!answer.ok) setTrouble(detailOf(answer.failure) ?? t('error.unreachable'));
  };
  return (
    <>
      <p>{t('workers.share.private')}</p>
      <p>{t('settings.share.what')}</p>
      <p className="worker-notice" role="note">
        {t('settings.share.warning')}
      </p>
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
