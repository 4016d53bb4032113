import type { JobId } from '../protocol/ids.ts';
import type { StatusReportBody } from '../protocol/worker-api.ts';
import type { ApiClient } from './api-client.ts';
import type { Held } from './job-slot.ts';

export interface MentionParts {
  readonly api: Pick<ApiClient, 'report'>;
  /** The orchestrator wants the trainer stopped: the job has moved on without this worker. */
  readonly onRefused: (jobId: JobId) => void;
  readonly after: (ms: number, run: () => void) => void;
}

const apartMs = 1_000;

/**
 * Tells how a job gets on: at most once a second, the newest word only, and without a second try, because the next
 * one says more.
 */
export function createMention({
  api,
  onRefused,
  after,
}: MentionParts): (held: Held, report: StatusReportBody) => void {
  let waiting: { readonly held: Held; readonly report: StatusReportBody } | null = null;
  let busy = false;

  const send = async (held: Held, report: StatusReportBody): Promise<void> => {
    const result = await api.report(held.jobId, held.attemptId, report);
    if (result.ok || result.failure.kind !== 'problem') return;
    if (result.failure.problem.action === 'stop') onRefused(held.jobId);
  };

  const pump = (): void => {
    if (busy || waiting === null) return;
    const { held, report } = waiting;
    waiting = null;
    busy = true;
    void send(held, report).then(() =>
      after(apartMs, () => {
        busy = false;
        pump();
      }),
    );
  };

  return (held, report) => {
    waiting = { held, report };
    pump();
  };
}
