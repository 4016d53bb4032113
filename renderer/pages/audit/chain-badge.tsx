import { useEffect, useRef, useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { CallFailure, ValueOf } from '../../../protocol/client.ts';
import { verifyTrail } from '../../../protocol/verify-trail.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Progress } from '../../ui/indicators.tsx';
import { showFailure } from '../../ui/toast.tsx';

type Verdict = ValueOf<typeof auditApi.verify>;
type Answer<V> =
  | { readonly ok: true; readonly value: V }
  | { readonly ok: false; readonly failure: CallFailure };

/** Verifies the audit trail only when the user requests it, because a verification reads every row. */
export function ChainBadge() {
  const t = useT();
  const { verdict, percent, verify } = useVerification();
  return (
    <div className="page-head" role="status">
      {percent !== null && (
        <Progress
          percent={percent}
          label={t('audit.verifying')}
          text={t('workers.percent', { value: Math.floor(percent) })}
        />
      )}
      {verdict !== null && (
        <span className={verdict.valid ? 'state' : 'trouble'} data-state="completed">
          {verdict.first_bad === null
            ? t('audit.whole', { count: verdict.checked })
            : t('audit.broken', { seq: verdict.first_bad.seq, problem: verdict.first_bad.problem })}
        </span>
      )}
      {verdict !== null && verdict.anchor !== null && (
        <span className="muted">{t('audit.trimmed', { seq: verdict.anchor.seq })}</span>
      )}
      <Button disabled={percent !== null} onClick={() => void verify()}>
        {t('audit.verify')}
      </Button>
    </div>
  );
}

/** `percent` is null unless a verification is in progress. Leaving the page aborts the verification. */
function useVerification() {
  const t = useT();
  const { client } = usePanel();
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const [percent, setPercent] = useState<number | null>(null);
  const leaving = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  const verify = async (): Promise<void> => {
    const { signal } = leaving.current;
    /** Returns the value of an answer. Shows the failure and returns null if the call failed. */
    const valueOf = <V,>(answer: Answer<V>): V | null => {
      if (answer.ok) return answer.value;
      if (!signal.aborted) showFailure(t, answer.failure);
      return null;
    };
    setVerdict(null);
    setPercent(0);
    const newest = valueOf(await client.call(auditApi.list, { query: { limit: 1 }, signal }));
    const found =
      newest &&
      (await verifyTrail(
        {},
        newest.entries[0]?.seq ?? 0,
        async query => valueOf(await client.call(auditApi.verify, { query, signal })),
        setPercent,
      ));
    if (signal.aborted) return;
    setVerdict(found);
    setPercent(null);
  };
  return { verdict, percent, verify };
}
