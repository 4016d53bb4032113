import type { FailureCause } from '../../../protocol/job.ts';

/**
 * Backoff before the first, second and third retry; `maxBackoffMs` applies to every further one. After the loss of
 * a worker, the backoff bars only that worker, so that an unreliable machine cannot use up all retries in a row.
 */
const firstBackoffsMs: readonly number[] = [0, 30_000, 120_000];
const maxBackoffMs = 600_000;

/** The backoff of a job that has used this many retries, at least 1. */
export const backoffMs = (retriesUsed: number): number => firstBackoffsMs[retriesUsed - 1] ?? maxBackoffMs;

/**
 * Failures that the trainer did not cause. They are always retried within the retry budget. A failure of the trainer
 * would most likely recur, so it is retried only if the job requests that (docs/internals/semantics.md, section 2).
 */
const externalCauses: ReadonlySet<FailureCause> = new Set(['worker_lost', 'preempted']);

/** Whether the attempt failed because of its worker. Another worker can then take the job at once. */
export const isWorkerLoss = (cause: FailureCause | null): boolean =>
  cause !== null && externalCauses.has(cause);

export type RetryPlan =
  | { readonly retry: true; readonly retriesUsed: number; readonly delayMs: number }
  | { readonly retry: false };

export interface RetryBudget {
  readonly used: number;
  readonly max: number;
  /** Further causes that the job wants to retry. */
  readonly retryOn: readonly FailureCause[];
}

export function planRetry(cause: FailureCause, { used, max, retryOn }: RetryBudget): RetryPlan {
  const isRetryable = externalCauses.has(cause) || retryOn.includes(cause);
  if (!isRetryable || used >= max) return { retry: false };
  return { retry: true, retriesUsed: used + 1, delayMs: backoffMs(used + 1) };
}
