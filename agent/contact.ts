import type { ApiClient } from './api-client.ts';

/**
 * The same calls; `note` is told of each that was answered and by which the orchestrator knows that this worker lives,
 * with the moment at which it was sent: what was heard later can't have been known earlier.
 */
export function noteContacts(
  api: ApiClient,
  uptime: () => number,
  note: (sentAt: number) => void,
): ApiClient {
  const noted = async <R extends { readonly ok: boolean }>(send: () => Promise<R>): Promise<R> => {
    const sentAt = uptime();
    const result = await send();
    if (result.ok) note(sentAt);
    return result;
  };
  return {
    ...api,
    register: body => noted(() => api.register(body)),
    beat: body => noted(() => api.beat(body)),
    report: (jobId, attemptId, report) => {
      const send = (): ReturnType<ApiClient['report']> => api.report(jobId, attemptId, report);
      // Of the reports only the claim: words on the way are sent once, and promise nothing.
      return report.status === 'starting' ? noted(send) : send();
    },
  };
}
