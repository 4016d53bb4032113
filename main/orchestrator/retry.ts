import type { FailureCause } from '../../protocol/job.ts';

/** Waits before the first, second and third retry, and before every further one. */
const backoffMs: readonly number[] = [0, 30_000, 120_000];
const longestBackoffMs = 600_000;

/**
 * Causes that lie outside the trainer. They are tried again from the retry budget; a trainer's own failure is not,
 * because it would most likely fail again (SEMANTICS.md, section 2).
 */
const outsideTheTrainer: ReadonlySet<FailureCause> = new Set(['worker_lost', 'preempted']);

export type RetryPlan =
  | { readonly retry: true; readonly retriesUsed: number; readonly delayMs: number }
  | { readonly retry: false };

export function planRetry(
  cause: FailureCause,
  budget: { readonly used: number; readonly max: number },
): RetryPlan {
  if (!outsideTheTrainer.has(cause) || budget.used >= budget.max) return { retry: false };
  return {
    retry: true,
    retriesUsed: budget.used + 1,
    delayMs: backoffMs[budget.used] ?? longestBackoffMs,
  };
}
