import { useState } from 'react';
import type { CallFailure, CallInput } from '../../../../../protocol/client.ts';
import { templatesApi } from '../../../../../protocol/templates-api.ts';
import { detailOf } from '../../../../api/session.ts';
import { usePanel } from '../../../../app/context.ts';
import { type Submitted, useIdempotencyKey } from '../use-submit.ts';
import type { SweepSubmitted } from './sweep-answer.tsx';
import { useTemplateT } from './texts.tsx';

export type TemplateBody = NonNullable<CallInput<typeof templatesApi.submit>['body']>;
type Axes = NonNullable<CallInput<typeof templatesApi.sweep>['body']>['sweep'];

export type TemplateAnswer =
  | { readonly kind: 'job'; readonly answer: Submitted }
  | { readonly kind: 'sweep'; readonly answer: SweepSubmitted };

/** Submits a job or a sweep from a template, and keeps the answer or the error. */
export function useTemplateSubmit(name: string) {
  const t = useTemplateT();
  const { client } = usePanel();
  const [isSending, setSending] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [answer, setAnswer] = useState<TemplateAnswer | null>(null);
  const keyOf = useIdempotencyKey();
  /** Sends the request. `sweep` contains the values to try; it is empty for a single job. */
  const call = async (body: TemplateBody, sweep: Axes): Promise<CallFailure | TemplateAnswer | null> => {
    const params = { template: name };
    const idempotency_key = keyOf({ ...body, sweep });
    if (sweep.length > 0) {
      const result = await client.call(templatesApi.sweep, {
        params,
        body: { ...body, sweep, idempotency_key },
      });
      return result.ok ? { kind: 'sweep', answer: result.value } : result.failure;
    }
    const result = await client.call(templatesApi.submit, { params, body: { ...body, idempotency_key } });
    if (!result.ok) return result.failure;
    return 'dry_run' in result.value ? null : { kind: 'job', answer: result.value };
  };
  const send = async (body: TemplateBody, sweep: Axes): Promise<void> => {
    setTrouble(null);
    setSending(true);
    const result = await call(body, sweep);
    setSending(false);
    if (result !== null && 'answer' in result) setAnswer(result);
    else if (result !== null) setTrouble(detailOf(result) ?? t('error.unreachable'));
  };
  const again = (): void => {
    keyOf.forget();
    setAnswer(null);
  };
  return { send, isSending, trouble, answer, again };
}
