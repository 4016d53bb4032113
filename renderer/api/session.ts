/** The panel's client, the person who is signed in, and what that person may do. */
import { type Call, type Permission, reachOf } from '../../protocol/call.ts';
import { type CallFailure, type Client, createClient, urlOf, type ValueOf } from '../../protocol/client.ts';
import type { JobView } from '../../protocol/job.ts';
import type { sessionApi } from '../../protocol/session-api.ts';

/**
 * Creates a client for the orchestrator that served this page. The session cookie, which scripts cannot read,
 * authenticates the calls.
 */
export const createPanelClient = (baseUrl: string): Client =>
  createClient({ baseUrl, headers: () => ({}), timeoutMs: 15_000 });

interface Watcher {
  /** Called when a call was refused because the session ended or lacks a permission. */
  readonly onRefused: (failure: CallFailure) => void;
  /** Called after each successful call that changes something. */
  readonly onDone: () => void;
}

/** Wraps a client so that the watcher learns about refused calls and successful changes. */
export const watchingClient = (client: Client, { onRefused, onDone }: Watcher): Client => ({
  async call(row, input) {
    const answer = await client.call(row, input);
    if (answer.ok && row.method !== 'GET') onDone();
    if (!answer.ok && (isSignedOut(answer.failure) || isForbidden(answer.failure))) onRefused(answer.failure);
    return answer;
  },
});

/** Returns the server's message for a failed call; null when the server did not answer. */
export function detailOf(failure: CallFailure): string | null {
  if (failure.kind === 'problem') return failure.problem.detail;
  return failure.kind === 'unexpected' ? failure.detail : null;
}

export const isSignedOut = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.status === 401;

export const isForbidden = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.problem.code === 'permission_missing';

/** Sends a call while the page unloads. The browser still sends it, but nothing reads the response. */
export function sendWhileUnloading(baseUrl: string, row: Call, params: object): void {
  const headers = { 'content-type': 'application/json' };
  const init = { method: row.method, keepalive: true, headers, body: '{}', redirect: 'error' } as const;
  void fetch(urlOf(baseUrl, row.path, params), init).catch(() => undefined);
}

/** The person who is signed in. */
export interface Person {
  /** The name of the token. */
  readonly user: string;
  readonly permissions: readonly Permission[];
  /** End of the session, RFC 3339. */
  readonly until: string | null;
}

/** Converts the answer of the session call; returns null when nobody is signed in. */
export const toPerson = ({ user, permissions, expires_at: until }: ValueOf<typeof sessionApi.get>) =>
  user === null ? null : { user, permissions, until };

/** Returns true when the user name and the permissions are equal. */
export const isSamePerson = (a: Person, b: Person): boolean =>
  a.user === b.user && a.permissions.toSorted().join() === b.permissions.toSorted().join();

/**
 * Returns true when the signed-in user may make a call. With `job`: for that job. Without `job`: for at least some
 * jobs.
 */
export type May = (row: Pick<Call, 'authority' | 'own'>, job?: Pick<JobView, 'user'>) => boolean;

/** Derives the allowed calls from the user's permissions. Calls reserved for workers are never allowed. */
export const createMay =
  ({ user, permissions }: Pick<Person, 'user' | 'permissions'>): May =>
  (row, job) => {
    const reach = reachOf(permissions, row);
    return reach === 'all' || (reach === 'own' && (job === undefined || job.user === user));
  };

/** Returns the permissions to display. Omits a permission such as `x.own` if `x`, which includes it, is present. */
export const shownPermissions = (permissions: readonly Permission[]): readonly Permission[] =>
  permissions.filter(name => !permissions.some(other => name === `${other}.own`));

/** Prefix of the names under which this tab keeps the contents of forms. */
export const draftPrefix = 'trainyard.draft.';

/** Forgets the contents of forms, because the next person who signs in here must not see them. */
export function forgetDrafts(store: Pick<Storage, 'length' | 'key' | 'removeItem'>): void {
  const names = Array.from({ length: store.length }, (_, at) => store.key(at) ?? '');
  for (const name of names) if (name.startsWith(draftPrefix)) store.removeItem(name);
}
