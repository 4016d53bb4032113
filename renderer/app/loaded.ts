import { useCallback, useEffect, useState } from 'react';
import type { Call } from '../../protocol/call.ts';
import type { CallFailure, CallInput, ValueOf } from '../../protocol/client.ts';
import { usePanel } from './context.ts';

interface Answer<T> {
  readonly value: T | null;
  readonly failure: CallFailure | null;
}

interface Loaded<T> extends Answer<T> {
  readonly reload: () => void;
}

/**
 * Makes a call when the page opens, on `reload`, and whenever `input` (keep one object) or `sign` changes. The previous answer stays until
 * the new one arrives. Without permission it makes no call, so the caller must check first.
 */
export function useLoaded<C extends Call>(row: C, input?: CallInput<C>, sign = ''): Loaded<ValueOf<C>> {
  const { client, may } = usePanel();
  const isWanted = may(row);
  const [answer, setAnswer] = useState<Answer<ValueOf<C>>>({ value: null, failure: null });
  const [reloads, setReloads] = useState(0);
  const reload = useCallback(() => setReloads(count => count + 1), []);
  useEffect(() => {
    if (!isWanted) return undefined;
    const controller = new AbortController();
    void client.call(row, Object.assign({}, input, { signal: controller.signal })).then(result => {
      if (controller.signal.aborted) return;
      if (result.ok) setAnswer({ value: result.value, failure: null });
      else setAnswer(({ value }) => ({ value, failure: result.failure }));
    });
    return () => controller.abort();
  }, [client, row, input, sign, isWanted, reloads]);
  return { ...answer, reload };
}
