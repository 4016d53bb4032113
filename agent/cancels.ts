import type { AttemptId } from '../protocol/ids.ts';
import { type Attempts, rememberAttempts } from './attempts.ts';
import type { Held } from './held-attempt.ts';
import type { Report } from './reporter.ts';

/** Orders to stop what is not here: its offer was lost, is still on its way, or its process is gone. */
export interface Cancels {
  /** Says that it is gone, so that nobody waits for it; unless how it ended has been reported already. */
  confirm(attempt: Held): void;
  /** A cancelled attempt must not start when its offer comes after all. */
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
