import { setTimeout } from 'node:timers/promises';

/** Waits for `ms`. Resolves early when the signal aborts; never rejects. */
export const pauseFor = (ms: number, ended: AbortSignal): Promise<void> =>
  setTimeout(Math.max(0, ms), undefined, { signal: ended }).catch(() => {});
