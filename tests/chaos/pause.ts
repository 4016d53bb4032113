import { setTimeout as wait } from 'node:timers/promises';

/** Waits; returns early when the signal aborts. */
export const pauseFor = (ms: number, ended: AbortSignal): Promise<void> =>
  wait(Math.max(0, ms), undefined, { signal: ended }).catch(() => {});
