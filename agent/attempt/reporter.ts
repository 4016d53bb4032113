import type { CallFailure } from '../../protocol/client.ts';
import type { AttemptId, JobId } from '../../protocol/ids.ts';
import type { StatusReportBody } from '../../protocol/worker-api.ts';
import type { ApiClient } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import { retry } from '../retry/retry.ts';
import { policyOf } from '../retry/waits.ts';

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

const answers = { done: 'taken', stopped: 'refused', aborted: 'aborted' } as const;

/** Retries a report until the response is final (docs/internals/semantics.md, section 4). */
export function createReporter({ clock, api, random, onTrouble }: ReporterDeps): Report {
  return async (jobId, attemptId, report, signal) => {
    const send = (): ReturnType<ApiClient['report']> => api.report(jobId, attemptId, report);
    const end = await retry(send, { ...policyOf('report'), clock, random, signal, onFailure: onTrouble });
    return answers[end.kind];
  };
}
