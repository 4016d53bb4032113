import type { Call } from '../../protocol/call.ts';
import { type CallFailure, type Client, createClient, urlOf } from '../../protocol/client.ts';

/** Calls the orchestrator that this page came from; who calls is in a cookie that no script can see. */
export const createPanelClient = (baseUrl: string): Client =>
  createClient({ baseUrl, headers: () => ({}), timeoutMs: 15_000 });

interface Watcher {
  /** The session is over, or does not permit this: it is not the one that the page knows of. */
  readonly onRefused: (failure: CallFailure) => void;
  /** Something was changed. */
  readonly onDone: () => void;
}

/** The same client; the watcher hears of what becomes of any call. */
export const watchingClient = (client: Client, { onRefused, onDone }: Watcher): Client => ({
  async call(row, input) {
    const answer = await client.call(row, input);
    if (answer.ok && row.method !== 'GET') onDone();
    if (!answer.ok && (isSignedOut(answer.failure) || isForbidden(answer.failure))) onRefused(answer.failure);
    return answer;
  },
});

/** What a person is told of a failed call; null when there was no answer at all. */
export function detailOf(failure: CallFailure): string | null {
  if (failure.kind === 'problem') return failure.problem.detail;
  return failure.kind === 'unexpected' ? failure.detail : null;
}

export const isSignedOut = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.status === 401;

export const isForbidden = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.problem.code === 'permission_missing';

/** A call of a page that goes away: it is sent all the same, and nobody reads the answer. */
export function sendLeaving(baseUrl: string, row: Call, params: object): void {
  const headers = { 'content-type': 'application/json' };
  const init = { method: row.method, keepalive: true, headers, body: '{}', redirect: 'error' } as const;
  void fetch(urlOf(baseUrl, row.path, params), init).catch(() => undefined);
}
