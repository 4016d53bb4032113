import type { StatusReportBody } from '../../protocol/worker-api.ts';
import type { ApiClient } from '../connection/api-client.ts';
import { pause } from '../retry/backoff.ts';
import type { Clock } from '../clock.ts';
import type { Held } from '../attempt/held-attempt.ts';
import type { JobSlot } from './job-slot.ts';

export interface ProgressReporterDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'report'>;
  readonly slot: () => Pick<JobSlot, 'alive' | 'abandon'>;
  /** Fires when the agent ends. Cancels the pause between reports. */
  readonly ended: AbortSignal;
}

const apartMs = 1_000;

/**
 * Reports the progress of a job: at most once a second, only the newest, and without retries, because the next report
 * says more. It sends nothing after an attempt's final report, because a late report would revive the job.
 */
export function createProgressReporter({
  clock,
  api,
  slot,
  ended,
}: ProgressReporterDeps): (held: Held, report: StatusReportBody) => void {
  let waiting: { readonly held: Held; readonly report: StatusReportBody } | null = null;
  let busy = false;

  const send = async ({ jobId, attemptId }: Held, report: StatusReportBody): Promise<void> => {
    const result = await api.report(jobId, attemptId, report);
    if (result.ok || result.failure.kind !== 'problem') return;
    // The orchestrator has taken the job from this attempt. The job may be here again as a newer attempt.
    if (result.failure.problem.action === 'stop' && slot().alive(attemptId)) slot().abandon(jobId);
  };

  const pump = (): void => {
    if (busy || waiting === null) return;
    const { held, report } = waiting;
    waiting = null;
    if (!slot().alive(held.attemptId)) return;
    busy = true;
    void send(held, report)
      .then(() => pause(clock, apartMs, ended))
      .then(passed => {
        busy = false;
        if (passed) pump();
      });
  };

  return (held, report) => {
    waiting = { held, report };
    pump();
  };
}
