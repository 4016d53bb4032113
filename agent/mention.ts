import type { StatusReportBody } from '../protocol/worker-api.ts';
import type { ApiClient } from './api-client.ts';
import { pause } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { Held } from './held-attempt.ts';
import type { JobSlot } from './job-slot.ts';

export interface MentionParts {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'report'>;
  readonly slot: () => Pick<JobSlot, 'alive' | 'abandon'>;
  /** Fires when the agent ends: nothing waits any more. */
  readonly ended: AbortSignal;
}

const apartMs = 1_000;

/**
 * Tells how a job gets on: at most once a second, the newest word only, and without a second try, because the next
 * one says more. Nothing is said of an attempt after its last report: a late word would bring the job back to life.
 */
export function createMention({
  clock,
  api,
  slot,
  ended,
}: MentionParts): (held: Held, report: StatusReportBody) => void {
  let waiting: { readonly held: Held; readonly report: StatusReportBody } | null = null;
  let busy = false;

  const send = async ({ jobId, attemptId }: Held, report: StatusReportBody): Promise<void> => {
    const result = await api.report(jobId, attemptId, report);
    if (result.ok || result.failure.kind !== 'problem') return;
    // The job has moved on without this worker; or it is here again meanwhile, as a newer attempt.
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
