import type { AttemptId } from '../../protocol/ids.ts';
import { type Attempts, rememberAttempts } from '../attempt/attempts.ts';
import type { Held } from '../attempt/held-attempt.ts';
import type { Report } from '../attempt/reporter.ts';

/**
 * Handles cancels of attempts that are not held here. The offer was lost, is still on its way, or the process is gone.
 */
export interface Cancels {
  /**
   * Reports the attempt as cancelled, so that the orchestrator does not wait for it, unless its end is already
   * reported.
   */
  confirm(attempt: Held): void;
  /** Whether the attempt was cancelled. It must not start if its offer arrives late. */
  has(attemptId: AttemptId): boolean;
}

const never = new AbortController().signal;

export function createCancels(report: Report, reported: Attempts): Cancels {
  const cancelled = rememberAttempts();
  const onTheirWay = new Set<AttemptId>();
  return {
    confirm({ jobId, attemptId }) {
      cancelled.add(attemptId);
      if (reported.has(attemptId) || onTheirWay.has(attemptId)) return;
      onTheirWay.add(attemptId);
      void report(jobId, attemptId, { status: 'cancelled' }, never).then(answer => {
        onTheirWay.delete(attemptId);
        if (answer === 'taken') reported.add(attemptId);
      });
    },
    has: attemptId => cancelled.has(attemptId),
  };
}
