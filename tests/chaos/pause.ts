import { setTimeout } from 'node:timers/promises';

/** Waits; returns early when the signal aborts. */
export const pauseFor = (ms: number, ended: AbortSignal): Promise<void> =>
  setTimeout(Math.max(0, ms), undefined, { signal: ended }).catch(() => {});
