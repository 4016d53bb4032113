import { useEffect, useMemo, useRef, useState } from 'react';
import { useFleet } from './context.ts';

/**
 * Throttles a value: returns a change at most `delayMs` later. Further changes do not extend the delay, because a busy
 * fleet changes without a pause.
 */
export function useDelayedValue<T>(value: T, delayMs: number): T {
  const [shown, setShown] = useState<{ readonly value: T }>({ value });
  const newest = useRef(value);
  newest.current = value;
  const hasChanged = value !== shown.value;
  useEffect(() => {
    if (!hasChanged) return undefined;
    const timer = setTimeout(() => setShown({ value: newest.current }), delayMs);
    return () => clearTimeout(timer);
    // Depends on `shown`, because the value may have changed again while the timer ran.
  }, [hasChanged, shown, delayMs]);
  return shown.value;
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
  const lastEvent = useFleet(
    ({ fleet }) => fleet.recent.find(({ kind }) => kind === 'job' || kind === 'queue')?.seq,
  );
  // A new object for each change, so that each change causes a read.
  const newest = useMemo(() => ({ read, lastEvent, also }), [read, lastEvent, also]);
  const due = useDelayedValue(newest, delayMs);
  const unmount = useRef<AbortController | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    unmount.current = controller;
    return () => controller.abort();
  }, []);
  useEffect(() => {
    // Only unmounting aborts a read. If each new event aborted it, a slow read would never end in a busy fleet.
    if (unmount.current !== null) void due.read(unmount.current.signal);
  }, [due]);
}
