import { useState } from 'react';
import type { CallInput } from '../../../../../protocol/client.ts';
import { templatesApi } from '../../../../../protocol/templates-api.ts';
import { detailOf } from '../../../../api/session.ts';
import { usePanel } from '../../../../app/context.ts';
import { type Submitted, useIdempotencyKey } from '../use-submit.ts';
import { useTemplateT } from './texts.tsx';

export type TemplateBody = NonNullable<CallInput<typeof templatesApi.submit>['body']>;

/** Submits from a template, and keeps the answer or the error. */
export function useTemplateSubmit(name: string) {
  const t = useTemplateT();
  const { client } = usePanel();
  const [isSending, setSending] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Submitted | null>(null);
  const keyOf = useIdempotencyKey();
  const send = async (body: TemplateBody): Promise<void> => {
    setTrouble(null);
    setSending(true);
    const result = await client.call(templatesApi.submit, {
      params: { template: name },
      body: { ...body, idempotency_key: keyOf(body) },
    });
    setSending(false);
    if (!result.ok) setTrouble(detailOf(result.failure) ?? t('error.unreachable'));
    else if (!('dry_run' in result.value)) setAnswer(result.value);
  };
  const again = (): void => {
    keyOf.forget();
    setAnswer(null);
  };
  return { send, isSending, trouble, answer, again };
}
