import type { Clock } from './clock.ts';

/** Waits between tries: doubling from `firstMs` to `mostMs`. */
export interface Backoff {
  nextMs(): number;
  reset(): void;
}

export interface BackoffRule {
  readonly firstMs: number;
  readonly mostMs: number;
  /** Full jitter, so that a fleet that lost its orchestrator does not come back in step; else exact. */
  readonly random?: () => number;
}

export function createBackoff({ firstMs, mostMs, random }: BackoffRule): Backoff {
  let tries = 0;
  return {
    nextMs() {
      const capMs = Math.min(mostMs, firstMs * 2 ** tries);
      tries = Math.min(tries + 1, 30);
      return random === undefined ? capMs : capMs * random();
    },
    reset() {
      tries = 0;
    },
  };
}

/** Resolves after `ms`, or as soon as the signal fires: then with false. */
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
