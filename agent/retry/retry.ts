import type { Clock } from '../clock.ts';

/** The delays between retries, which double from `firstMs` to `maxMs`. */
export interface Backoff {
  nextMs(): number;
  reset(): void;
}

interface BackoffRule {
  readonly firstMs: number;
  readonly maxMs: number;
  /**
   * Adds full jitter, so that the workers of a fleet do not reconnect at the same time. When absent, the delays are exact.
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
      cancelTimer();
      resolve(false);
    };
    const cancelTimer = clock.after(ms, () => {
      signal.removeEventListener('abort', wake);
      resolve(true);
    });
    signal.addEventListener('abort', wake, { once: true });
  });
}

/** The pause before the next call, in ms: `baseMs` plus a jitter whose limit doubles from `firstMs` to `maxMs`. */
export interface Wait {
  readonly baseMs: number;
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Retries without a pause. The caller must limit the number of these retries. */
export const retryImmediately: Wait = { baseMs: 0, firstMs: 0, maxMs: 0 };

export type RetryAnswer<T, F> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly failure: F;
      /** The `Retry-After` of the response, in ms. It replaces a shorter `baseMs`. */
      readonly retryAfterMs?: number | undefined;
      /** Whether the call made progress before it failed. If so, the pauses start at `firstMs` again. */
      readonly hasProgressed?: boolean;
    };

export interface RetryPolicy<F, D extends string, R extends string> {
  readonly clock: Clock;
  readonly random: () => number;
  /** No call starts after this signal fires. */
  readonly signal: AbortSignal;
  /**
   * Ends the current pause and the retries. If it fires before the first call, that call is still made. Defaults to
   * `signal`.
   */
  readonly waitSignal?: AbortSignal;
  readonly decide: (failure: F) => D;
  /** The pauses for decisions that lead to a retry. All other decisions end the retries. */
  readonly waits: Readonly<Record<R, Wait>>;
  /** Called after each failed call, even the last one and after an abort. */
  readonly onFailure?: (failure: F, decision: D) => void;
}

/** `stopped`: the decision is final. `aborted`: a signal fired before there was a result. */
export type RetryEnd<T, F, D extends string> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'stopped'; readonly failure: F; readonly decision: D }
  | { readonly kind: 'aborted' };

/**
 * The maximum `Retry-After`. A proxy may send hours, but the worker should notice earlier that the server has
 * recovered.
 */
const maxRetryAfterMs = 60_000;

/**
 * Repeats a call until it succeeds, a failure is final, or a signal fires. Failures are values. An error that `call`
 * throws is not caught, because it is a bug or a failure of the disk.
 */
export async function retry<T, F, D extends string, R extends D>(
  call: () => Promise<RetryAnswer<T, F>>,
  policy: RetryPolicy<F, D, R>,
): Promise<RetryEnd<T, F, Exclude<D, R>>> {
  const { clock, random, signal, waitSignal = signal, decide, waits, onFailure } = policy;
  const isRetried = (decision: D): decision is R => decision in waits;
  const isFinal = (decision: D): decision is Exclude<D, R> => !isRetried(decision);
  const backoffs = new Map<string, Backoff>();
  const nextMs = (key: string, { baseMs, ...limits }: Wait, retryAfterMs: number): number => {
    const backoff = backoffs.get(key) ?? createBackoff({ ...limits, random });
    backoffs.set(key, backoff);
    return Math.max(baseMs, Math.min(retryAfterMs, maxRetryAfterMs)) + backoff.nextMs();
  };
  while (!signal.aborted) {
    const answer = await call();
    if (answer.ok) return { kind: 'done', value: answer.value };
    const { failure, retryAfterMs = 0, hasProgressed = false } = answer;
    const decision = decide(failure);
    onFailure?.(failure, decision);
    if (isFinal(decision)) return { kind: 'stopped', failure, decision };
    if (hasProgressed) backoffs.clear();
    const ms = isRetried(decision) ? nextMs(decision, waits[decision], retryAfterMs) : 0;
    if (ms > 0 && !(await pause(clock, ms, waitSignal))) break;
  }
  return { kind: 'aborted' };
}
