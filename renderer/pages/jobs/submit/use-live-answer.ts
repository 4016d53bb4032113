import { useEffect, useRef, useState } from 'react';
import type { CallFailure, ValueOf } from '../../../../protocol/client.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { usePanel } from '../../../app/context.ts';
import type { SubmitBody } from './draft-check.ts';

export type DryRun = Extract<ValueOf<typeof queueApi.submit>, { readonly dry_run: true }>;

interface LiveAnswer {
  /** The newest answer, even while a newer one is on its way; null before the first. */
  readonly answer: DryRun | null;
  /** Why the server refuses the job; null when it does not. */
  readonly failure: CallFailure | null;
  readonly isAsking: boolean;
}

const settleMs = 400;
/** Rigs become free and busy without a change of the form. */
const againMs = 10_000;
const nothing: LiveAnswer = { answer: null, failure: null, isAsking: false };

/**
 * Returns what would happen to the job if it were submitted now. Asks the server after a pause in typing, and again every ten
 * seconds while the page is visible. Answers about an earlier state of the form are dropped.
 */
export function useLiveAnswer(body: SubmitBody | null): LiveAnswer {
  const { client } = usePanel();
  const [live, setLive] = useState(nothing);
  const text = body === null ? null : JSON.stringify(body);
  const latest = useRef(body);
  latest.current = body;
  useEffect(() => {
    if (text === null) {
      setLive(nothing);
      return undefined;
    }
    const asking = new AbortController();
    const ask = async (): Promise<void> => {
      const latestBody = latest.current;
      if (latestBody === null) return;
      const result = await client.call(queueApi.submit, {
        body: { ...latestBody, dry_run: true },
        signal: asking.signal,
      });
      if (asking.signal.aborted) return;
      if (!result.ok) return setLive({ answer: null, failure: result.failure, isAsking: false });
      const { value } = result;
      if ('dry_run' in value) setLive({ answer: value, failure: null, isAsking: false });
    };
    setLive(was => ({ ...was, isAsking: true }));
    const first = setTimeout(() => void ask(), settleMs);
    const again = setInterval(() => {
      if (document.visibilityState === 'visible') void ask();
    }, againMs);
    return () => {
      clearTimeout(first);
      clearInterval(again);
      asking.abort();
    };
  }, [client, text]);
  return live;
}
