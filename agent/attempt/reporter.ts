import type { CallFailure } from '../../protocol/client.ts';
import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { StatusReportBody } from '../../protocol/worker-api.ts';
import { type ApiClient, isRetryable } from '../connection/api-client.ts';
import { createBackoff, pause } from '../backoff.ts';
import type { Clock } from '../clock.ts';

/** The final result: the orchestrator took the report, or refused it permanently, or the signal fired first. */
export type Answer = 'taken' | 'refused' | 'aborted';

export type Report = (
  jobId: JobId,
  attemptId: AttemptId,
  report: StatusReportBody,
  signal: AbortSignal,
) => Promise<Answer>;

export interface ReporterDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'report'>;
  readonly random: () => number;
  readonly onTrouble: (failure: CallFailure) => void;
}

/** Retries a report until the response is final (docs/internals/semantics.md, section 4). */
export function createReporter({ clock, api, random, onTrouble }: ReporterDeps): Report {
  return async (jobId, attemptId, report, signal) => {
    const backoff = createBackoff({ firstMs: 500, maxMs: 15_000, random });
    for (;;) {
      if (signal.aborted) return 'aborted';
      const result = await api.report(jobId, attemptId, report);
      if (result.ok) return 'taken';
      onTrouble(result.failure);
      if (!isRetryable(result.failure)) return 'refused';
      if (!(await pause(clock, 100 + backoff.nextMs(), signal))) return 'aborted';
    }
  };
}
