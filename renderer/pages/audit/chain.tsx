import { useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { showFailure } from '../../ui/toast.tsx';

type Verdict = ValueOf<typeof auditApi.verify>;

/** Verifies the audit trail on request only, because that reads all of it. */
export function ChainBadge() {
  const t = useT();
  const { client } = usePanel();
  const [verdict, setVerdict] = useState<Verdict | 'looking' | null>(null);
  const verify = async (): Promise<void> => {
    setVerdict('looking');
    const answer = await client.call(auditApi.verify);
    setVerdict(answer.ok ? answer.value : null);
    if (!answer.ok) showFailure(t, answer.failure);
  };
  return (
    <div className="page-head" role="status">
      {verdict === 'looking' && <span className="muted">{t('audit.verifying')}</span>}
      {verdict !== null && verdict !== 'looking' && (
        <span className={verdict.valid ? 'state' : 'trouble'} data-state="completed">
          {verdict.first_bad === null
            ? t('audit.whole', { count: verdict.checked })
            : t('audit.broken', { seq: verdict.first_bad.seq, problem: verdict.first_bad.problem })}
        </span>
      )}
      {verdict !== null && verdict !== 'looking' && verdict.anchor !== null && (
        <span className="muted">{t('audit.trimmed', { seq: verdict.anchor.seq })}</span>
      )}
      <Button disabled={verdict === 'looking'} onClick={() => void verify()}>
        {t('audit.verify')}
      </Button>
    </div>
  );
}
