import { useEffect, useRef, useState } from 'react';
import type { CallFailure, ValueOf } from '../../../../protocol/client.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { usePanel } from '../../../app/context.ts';
import type { SubmitBody } from './draft-check.ts';

export type DryRun = Extract<ValueOf<typeof queueApi.submit>, { readonly dry_run: true }>;

interface LiveAnswer {
  /** The newest answer, which stays during the next request; null before the first answer. */
  readonly answer: DryRun | null;
  /** Why the request failed, such as a rejected field; null if it did not fail. */
  readonly failure: CallFailure | null;
  readonly isLoading: boolean;
}

const typingDelayMs = 400;
/** Interval of further requests, because rigs change their states while the form stays the same. */
const repeatMs = 10_000;
const nothing: LiveAnswer = { answer: null, failure: null, isLoading: false };

/**
 * Returns the server's prediction for the job if it were submitted now. Sends a dry run after a pause in typing, and then
 * every ten seconds while the page is visible. Drops answers for earlier contents of the form.
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
    const controller = new AbortController();
    const requestAnswer = async (): Promise<void> => {
      const latestBody = latest.current;
      if (latestBody === null) return;
      const result = await client.call(queueApi.submit, {
        body: { ...latestBody, dry_run: true },
        signal: controller.signal,
      });
      if (controller.signal.aborted) return;
      if (!result.ok) return setLive({ answer: null, failure: result.failure, isLoading: false });
      const { value } = result;
      if ('dry_run' in value) setLive({ answer: value, failure: null, isLoading: false });
    };
    setLive(was => ({ ...was, isLoading: true }));
    const first = setTimeout(() => void requestAnswer(), typingDelayMs);
    const again = setInterval(() => {
      if (document.visibilityState === 'visible') void requestAnswer();
    }, repeatMs);
    return () => {
      clearTimeout(first);
      clearInterval(again);
      controller.abort();
    };
  }, [client, text]);
  return live;
}
