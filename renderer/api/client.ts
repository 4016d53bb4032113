import type { Call } from '../../protocol/call.ts';
import { type CallFailure, type Client, createClient, urlOf } from '../../protocol/client.ts';

/** Calls the orchestrator that served this page. The session cookie authenticates it; scripts cannot read the cookie. */
export const createPanelClient = (baseUrl: string): Client =>
  createClient({ baseUrl, headers: () => ({}), timeoutMs: 15_000 });

interface Watcher {
  /** The session has ended, or lacks a permission that the page expected. */
  readonly onRefused: (failure: CallFailure) => void;
  /** A call that changes something succeeded. */
  readonly onDone: () => void;
}

/** Wraps a client and reports refused and completed calls to the watcher. */
export const watchingClient = (client: Client, { onRefused, onDone }: Watcher): Client => ({
  async call(row, input) {
    const answer = await client.call(row, input);
    if (answer.ok && row.method !== 'GET') onDone();
    if (!answer.ok && (isSignedOut(answer.failure) || isForbidden(answer.failure))) onRefused(answer.failure);
    return answer;
  },
});

/** Returns the message for a failed call; null when the server gave no answer. */
export function detailOf(failure: CallFailure): string | null {
  if (failure.kind === 'problem') return failure.problem.detail;
  return failure.kind === 'unexpected' ? failure.detail : null;
}

export const isSignedOut = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.status === 401;

export const isForbidden = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.problem.code === 'permission_missing';

/** Sends a call while the page unloads. The browser still sends it, but nothing reads the response. */
export function sendLeaving(baseUrl: string, row: Call, params: object): void {
  const headers = { 'content-type': 'application/json' };
  const init = { method: row.method, keepalive: true, headers, body: '{}', redirect: 'error' } as const;
  void fetch(urlOf(baseUrl, row.path, params), init).catch(() => undefined);
}
