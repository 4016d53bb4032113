import { useRef, useState } from 'react';
import type { ValueOf } from '../../../../protocol/client.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { checkDraft, type FieldErrors, toFieldErrors } from './draft-check.ts';
import type { Draft } from './draft.ts';
import { useSubmitT } from './texts.tsx';

export type Submitted = Exclude<ValueOf<typeof queueApi.submit>, { readonly dry_run: true }>;

const noErrors: FieldErrors = {};

/** Submits the form, and keeps the answer or the errors. */
export function useSubmit() {
  const t = useSubmitT();
  const { client } = usePanel();
  const [isSending, setSending] = useState(false);
  const [errors, setErrors] = useState(noErrors);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Submitted | null>(null);
  const keyOf = useIdempotencyKey();
  const send = async (draft: Draft): Promise<void> => {
    const checked = checkDraft(draft, t);
    setErrors(checked.ok ? noErrors : checked.errors);
    setTrouble(null);
    if (!checked.ok) return;
    setSending(true);
    const body = { ...checked.body, idempotency_key: keyOf(checked.body) };
    const result = await client.call(queueApi.submit, { body });
    setSending(false);
    if (result.ok) {
      if (!('dry_run' in result.value)) setAnswer(result.value);
      return;
    }
    const fieldErrors = toFieldErrors(result.failure);
    setErrors(fieldErrors ?? noErrors);
    // Errors of fields are shown next to the fields.
    if (fieldErrors === null) setTrouble(detailOf(result.failure) ?? t('error.unreachable'));
  };
  const again = (): void => {
    keyOf.forget();
    setAnswer(null);
  };
  return { send, isSending, errors, trouble, answer, again };
}

/**
 * Returns a function that returns the idempotency key for a request body. The key stays the same for the same body, so
 * that a retry creates no second job. `forget` ensures a new key for the next request.
 */
export function useIdempotencyKey() {
  const last = useRef<{ readonly body: string; readonly key: string } | null>(null);
  const keyOf = (body: object): string => {
    const text = JSON.stringify(body);
    if (last.current?.body !== text) last.current = { body: text, key: randomKey() };
    return last.current.key;
  };
  const forget = (): void => {
    last.current = null;
  };
  return Object.assign(keyOf, { forget });
}

/** Creates a random key. Pages over plain HTTP have no `randomUUID`. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
