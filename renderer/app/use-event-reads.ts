import { useEffect, useMemo, useRef, useState } from 'react';
import { useFleet } from './context.ts';

/**
 * Returns the value as it was up to `delayMs` ago. Further changes do not postpone it, because in a busy fleet they
 * never pause.
 */
export function useDelayedValue<T>(value: T, delayMs: number): T {
  const [taken, setTaken] = useState<{ readonly value: T }>({ value });
  const newest = useRef(value);
  newest.current = value;
  const isDue = value !== taken.value;
  useEffect(() => {
    if (!isDue) return undefined;
    const timer = setTimeout(() => setTaken({ value: newest.current }), delayMs);
    return () => clearTimeout(timer);
    // The value may have changed again by the time it is taken.
  }, [isDue, taken, delayMs]);
  return taken.value;
}

/**
 * Reads data that events do not contain. It reads once when the component mounts. After that, it reads `delayMs` after
 * an event of a job or the queue, or after a change of `read` or `also`.
 */
export function useEventReads(
  read: (signal: AbortSignal) => Promise<void>,
  delayMs: number,
  also: number | null = null,
): void {
  const happened = useFleet(
    ({ fleet }) => fleet.recent.find(({ kind }) => kind === 'job' || kind === 'queue')?.seq,
  );
  const wanted = useMemo(() => ({ read, happened, also }), [read, happened, also]);
  const due = useDelayedValue(wanted, delayMs);
  const page = useRef<AbortController | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    page.current = controller;
    return () => controller.abort();
  }, []);
  useEffect(() => {
    // A read that is under way is not aborted: otherwise a slow one would never end while events arrive.
    if (page.current !== null) void due.read(page.current.signal);
  }, [due]);
}
