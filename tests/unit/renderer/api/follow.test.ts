/** Tests that the panel loads a snapshot, applies events, and shows when its data is stale. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CallFailure, Client } from '../../../../protocol/client.ts';
import type { UiEvent } from '../../../../protocol/events.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { type Permission, permissions } from '../../../../protocol/call.ts';
import { followFleet } from '../../../../renderer/api/follow.ts';
import { createMay, type Person } from '../../../../renderer/api/session.ts';
import type { StreamMessage, StreamListener } from '../../../../renderer/api/stream/own.ts';
import { createFleetStore } from '../../../../renderer/state/stores.ts';
import { jobView } from '../../../support/job-view.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const id = JobId.parse('j_1');
const at = '2026-01-02T03:04:05.678Z';
const jobEvent = (seq: number, status = 'running'): StreamMessage => {
  const event: UiEvent = {
    seq,
    at,
    kind: 'job',
    type: 'job.running',
    job_id: id,
    worker_id: null,
    attempt: 1,
    cause: null,
    job: jobView({ status }),
  };
  return { kind: 'frame', data: JSON.stringify(event) };
};
const signedOut: CallFailure = {
  kind: 'problem',
  status: 401,
  problem: { type: 'about:blank', title: 'no', status: 401, code: 'token_invalid', detail: 'signed out' },
};
const forbidden: CallFailure = {
  kind: 'problem',
  status: 403,
  problem: {
    type: 'about:blank',
    title: 'no',
    status: 403,
    code: 'permission_missing',
    detail: 'not for you',
  },
};
const unreachable: CallFailure = { kind: 'unreachable', cause: null };

/** Follows a fake server with one job. The state of the server includes all events up to `server.seq`. */
function startFollowing(granted: readonly Permission[] = permissions) {
  const server = {
    seq: 5,
    status: 'pending',
    failure: null as CallFailure | null,
    user: 'ada' as string | null,
  };
  const calls: string[] = [];
  const list = () => ({ as_of_seq: server.seq, next_cursor: null, entries: [] as unknown[] });
  const answers: Readonly<Record<string, (query: object) => unknown>> = {
    '/api/admin/workers': () => ({ as_of_seq: server.seq, workers: [] }),
    '/api/queue': query =>
      'status' in query ? list() : { ...list(), entries: [jobView({ status: server.status })] },
    '/api/queue/status': () => ({ paused: null }),
    '/api/session': () => ({ user: server.user, permissions: granted, expires_at: null }),
  };
  const client = {
    call: (row: { readonly path: string }, input: { readonly query?: object } = {}) => {
      calls.push(row.path);
      const value = answers[row.path]?.(input.query ?? {});
      const isSessionCall = row.path === '/api/session';
      return Promise.resolve(
        server.failure === null || isSessionCall
          ? { ok: true, value }
          : { ok: false, failure: server.failure },
      );
    },
  } as unknown as Client;
  const store = createFleetStore();
  const opened: string[] = [];
  let notify: StreamListener = () => {};
  let isClosed = false;
  const onPerson = vi.fn<(now: Person | null) => void>();
  const close = followFleet({
    client,
    baseUrl: 'http://fleet',
    store,
    may: createMay({ user: 'ada', permissions: granted }),
    onPerson,
    openStream(url, listener) {
      opened.push(url);
      notify = listener;
      return () => void (isClosed = true);
    },
  });
  const receive = async (message: StreamMessage): Promise<void> => {
    notify(message);
    await vi.advanceTimersByTimeAsync(60);
  };
  const shown = () => [store.getState().stream.kind, store.getState().fleet.jobs.get(id)?.status];
  const workerReads = (): number => calls.filter(path => path === '/api/admin/workers').length;
  return { server, calls, receive, shown, workerReads, close, opened, onPerson, isClosed: () => isClosed };
}

describe('followFleet', () => {
  test('opens the stream, then loads the snapshot, then applies events', async () => {
    const { receive, shown, opened, workerReads } = startFollowing();
    expect([opened, workerReads(), shown()]).toEqual([
      ['http://fleet/api/events?pings=true'],
      0,
      ['connecting', undefined],
    ]);
    await receive({ kind: 'open' });
    expect(shown()).toEqual(['live', 'pending']);
    await receive(jobEvent(6));
    expect(shown()).toEqual(['live', 'running']);
    expect(workerReads()).toBe(1);
  });

  test('applies an event that arrives while the snapshot loads', async () => {
    const { server, receive, shown } = startFollowing();
    const opening = receive({ kind: 'open' });
    server.seq = 99;
    await receive(jobEvent(6));
    await opening;
    expect(shown()).toEqual(['live', 'running']);
  });

  test('shows a lost stream as stale and reloads the snapshot after the reconnect', async () => {
    const { server, receive, shown, workerReads } = startFollowing();
    await receive({ kind: 'open' });
    await receive({ kind: 'lost' });
    expect(shown()).toEqual(['stale', 'pending']);
    Object.assign(server, { seq: 9, status: 'completed' });
    await receive({ kind: 'open' });
    expect([shown(), workerReads()]).toEqual([['live', 'completed'], 2]);
  });

  test('stays stale when the stream breaks while the snapshot loads', async () => {
    const { receive, shown } = startFollowing();
    const opening = receive({ kind: 'open' });
    await receive({ kind: 'lost' });
    await opening;
    expect(shown()[0]).toBe('stale');
  });

  test('reloads the snapshot when an event is missing', async () => {
    const { server, receive, shown, workerReads } = startFollowing();
    await receive({ kind: 'open' });
    Object.assign(server, { seq: 8, status: 'failed' });
    await receive(jobEvent(8));
    expect([shown(), workerReads()]).toEqual([['live', 'failed'], 2]);
    await receive(jobEvent(9, 'completed'));
    expect(shown()).toEqual(['live', 'completed']);
  });

  test('retries a failed snapshot every two seconds until it succeeds', async () => {
    const { server, receive, shown, workerReads, onPerson } = startFollowing();
    server.failure = unreachable;
    await receive({ kind: 'open' });
    expect(shown()[0]).toBe('stale');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(workerReads()).toBe(2);
    server.failure = null;
    await vi.advanceTimersByTimeAsync(2_000);
    expect([shown(), workerReads()]).toEqual([['live', 'pending'], 3]);
    expect(onPerson).not.toHaveBeenCalled();
  });

  test('ignores late answers after the follower is closed', async () => {
    const { receive, shown, close, isClosed, workerReads } = startFollowing();
    await receive({ kind: 'open' });
    const late = receive(jobEvent(6));
    close();
    await late;
    await receive({ kind: 'open' });
    expect([isClosed(), shown(), workerReads()]).toEqual([true, ['live', 'pending'], 1]);
  });
});

describe('a signed-out user', () => {
  test('reports a signed-out user when the stream is refused', async () => {
    const { server, receive, onPerson } = startFollowing();
    await receive({ kind: 'open' });
    server.user = null;
    await receive({ kind: 'refused' });
    expect(onPerson.mock.calls).toEqual([[null]]);
  });

  test('reports a signed-out user when every read is refused', async () => {
    const { server, receive, onPerson } = startFollowing();
    server.failure = signedOut;
    await receive({ kind: 'open' });
    expect(onPerson.mock.calls).toEqual([[null]]);
  });

  test('still reports the signed-in user when the stream is refused for another reason', async () => {
    const { receive, shown, onPerson } = startFollowing();
    await receive({ kind: 'open' });
    await receive({ kind: 'refused' });
    expect([shown()[0], onPerson.mock.lastCall?.[0]]).toMatchObject(['stale', { user: 'ada' }]);
  });
});

describe('permissions and changes of the user', () => {
  test('shows the jobs and does not request the workers without admin.workers', async () => {
    const { receive, shown, workerReads } = startFollowing(['queue.view']);
    await receive({ kind: 'open' });
    expect([shown(), workerReads()]).toEqual([['live', 'pending'], 0]);
    await receive(jobEvent(6));
    expect(shown()).toEqual(['live', 'running']);
  });

  test('reports the new user when another user signed in before the stream reopened', async () => {
    const { server, receive, onPerson } = startFollowing();
    await receive({ kind: 'open' });
    expect(onPerson).not.toHaveBeenCalled();
    await receive({ kind: 'lost' });
    server.user = 'bob';
    await receive({ kind: 'open' });
    expect(onPerson.mock.lastCall?.[0]).toMatchObject({ user: 'bob' });
  });

  test('reads the session again when the server refuses a call that the session allowed', async () => {
    const { server, calls, receive, onPerson } = startFollowing();
    server.failure = forbidden;
    await receive({ kind: 'open' });
    expect(calls).toContain('/api/session');
    expect(onPerson.mock.lastCall?.[0]).toMatchObject({ user: 'ada' });
  });
});
