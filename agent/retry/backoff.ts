import type { Clock } from '../clock.ts';

/** Delays between retries: they double from `firstMs` to `maxMs`. */
export interface Backoff {
  nextMs(): number;
  reset(): void;
}

export interface BackoffRule {
  readonly firstMs: number;
  readonly maxMs: number;
  /**
   * The source of full jitter, so that a fleet that lost its orchestrator does not reconnect at the same time. Without
   * it, the delays are exact.
   */
  readonly random?: () => number;
}

export function createBackoff({ firstMs, maxMs, random }: BackoffRule): Backoff {
  let tries = 0;
  return {
    nextMs() {
      const capMs = Math.min(maxMs, firstMs * 2 ** tries);
      tries = Math.min(tries + 1, 30);
      return random === undefined ? capMs : capMs * random();
    },
    reset() {
      tries = 0;
    },
  };
}

/** Resolves with true after `ms`, or with false as soon as the signal fires. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise(resolve => {
    const wake = (): void => {
      takeBack();
      resolve(false);
    };
    const takeBack = clock.after(ms, () => {
      signal.removeEventListener('abort', wake);
      resolve(true);
    });
    signal.addEventListener('abort', wake, { once: true });
  });
}
