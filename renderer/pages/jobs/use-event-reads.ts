import { useEffect, useRef } from 'react';
import { useFleet } from '../../app/context.ts';

/**
 * Reads data that events do not contain. It reads once when the component mounts. After that, it reads `delayMs` after
 * an event of a job or the queue, or after a change of `also`. Further events do not postpone a pending read, because
 * in a busy fleet they never pause.
 */
export function useEventReads(
  read: (signal: AbortSignal) => Promise<void>,
  delayMs: number,
  also: number | null = null,
): void {
  const happened = useFleet(
    ({ fleet }) => fleet.recent.find(({ kind }) => kind === 'job' || kind === 'queue')?.seq,
  );
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
      isFirst ? 0 : delayMs,
    );
  }, [read, delayMs, happened, also]);
}
