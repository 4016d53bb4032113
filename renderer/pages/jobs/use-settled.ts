import { useEffect, useRef } from 'react';
import { useFleet } from '../../app/context.ts';

/**
 * What no event carries is read when the page opens, and again `settleMs` after something has happened to a job or to the
 * queue, or `also` has become another one. A busy fleet never settles: one reading that is due takes in whatever happens until
 * then.
 */
export function useSettled(
  read: (signal: AbortSignal) => Promise<void>,
  settleMs: number,
  also: number | null = null,
): void {
  const happened = useFleet(({ fleet }) => fleet.recent.find(({ kind }) => kind !== 'worker')?.seq);
  const over = useRef<AbortController | null>(null);
  const next = useRef({ isDue: false, isFirst: true });
  useEffect(() => {
    const page = new AbortController();
    over.current = page;
    return () => page.abort();
  }, []);
  useEffect(() => {
    const signal = over.current?.signal;
    const { isDue, isFirst } = next.current;
    if (isDue || signal === undefined) return;
    next.current = { isDue: true, isFirst: false };
    setTimeout(
      () => {
        next.current = { isDue: false, isFirst: false };
        if (!signal.aborted) void read(signal);
      },
      isFirst ? 0 : settleMs,
    );
  }, [read, settleMs, happened, also]);
}
