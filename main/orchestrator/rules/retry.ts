import type { FailureCause } from '../../../protocol/job.ts';

/**
 * Backoff before the first, second and third retry; `maxBackoffMs` applies to every further one. After the loss of
 * a worker, only that worker has to wait: an unreliable machine must not use up the retries in a row.
 */
const firstBackoffsMs: readonly number[] = [0, 30_000, 120_000];
const maxBackoffMs = 600_000;

/** The backoff of a job that has used this many retries, at least 1. */
export const backoffMs = (retriesUsed: number): number => firstBackoffsMs[retriesUsed - 1] ?? maxBackoffMs;

/**
 * Causes outside the trainer. They are retried within the retry budget. A trainer's own failure is not, unless the job
 * requests it, because it would most likely recur (docs/internals/semantics.md, section 2).
 */
const outsideTheTrainer: ReadonlySet<FailureCause> = new Set(['worker_lost', 'preempted']);

/** Whether the worker was lost, rather than the job being at fault. Another worker can then take the job at once. */
export const isWorkerLoss = (cause: FailureCause | null): boolean =>
  cause !== null && outsideTheTrainer.has(cause);

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
  const worthIt = outsideTheTrainer.has(cause) || retryOn.includes(cause);
  if (!worthIt || used >= max) return { retry: false };
  return { retry: true, retriesUsed: used + 1, delayMs: backoffMs(used + 1) };
}
