import { useEffect, useState } from 'react';
import type { Call } from '../../../protocol/call.ts';
import type { CallFailure, CallInput, ValueOf } from '../../../protocol/client.ts';
import { usePanel } from '../../app/context.ts';

interface Loaded<T> {
  readonly value: T | null;
  readonly failure: CallFailure | null;
}

/**
 * Asks when the page opens, and again whenever `input` (one object, kept) or `sign` is another; what was there stays until
 * the answer comes. What may not be read is not asked for: whoever shows it looks at that first.
 */
export function useLoaded<C extends Call>(row: C, input: CallInput<C>, sign: string): Loaded<ValueOf<C>> {
  const { client, may } = usePanel();
  const isWanted = may(row);
  const [loaded, setLoaded] = useState<Loaded<ValueOf<C>>>({ value: null, failure: null });
  useEffect(() => {
    if (!isWanted) return undefined;
    const over = new AbortController();
    void client.call(row, { ...input, signal: over.signal }).then(answer => {
      if (over.signal.aborted) return;
      if (answer.ok) setLoaded({ value: answer.value, failure: null });
      else setLoaded(({ value }) => ({ value, failure: answer.failure }));
    });
    return () => over.abort();
  }, [client, row, input, sign, isWanted]);
  return loaded;
}
