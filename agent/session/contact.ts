import type { ApiClient } from '../connection/api-client.ts';

/**
 * Wraps the API. Calls `note` after each answered call that counts as contact, with the time at which it was sent. The
 * orchestrator may have received the call at any time since then, so the response time would be too late.
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
      // Only the claim counts as contact, not the other reports. Progress reports are sent once, and promise nothing.
      return report.status === 'starting' ? noted(send) : send();
    },
  };
}
