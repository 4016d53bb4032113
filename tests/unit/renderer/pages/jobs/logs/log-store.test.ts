import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CallFailure } from '../../../../../../protocol/client.ts';
import { JobId } from '../../../../../../protocol/ids.ts';
import { createLogStore, type LogSource } from '../../../../../../renderer/pages/jobs/logs/log-store.ts';
import type { LogUpdate, PageRead } from '../../../../../../renderer/pages/jobs/logs/log-snapshot.ts';
import { logLines } from '../../../log-builders.ts';

type Query = Parameters<LogSource['read']>[0];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Returns a test server whose log has `total` lines. The overrides change its answers. */
function createLogServer(total: number, overrides: Partial<PageRead> = {}) {
  const queries: Query[] = [];
  const followed: { readonly attempt: number; readonly line: number }[] = [];
  let sendUpdate: ((update: LogUpdate) => void) | null = null;
  let failure: CallFailure | null = null;
  const state = { total, overrides };
  const source: LogSource = {
    async read(query) {
      queries.push(query);
      if (failure !== null) return { ok: false, failure };
      const from = query.line ?? Math.max(0, state.total - query.limit);
      const lines = [...logLines(from, Math.min(from + query.limit, state.total))];
      const value: PageRead = {
        job_id: JobId.parse('j_1'),
        attempt: query.attempt ?? 2,
        attempts: [1, 2],
        total_lines: state.total,
        first_line: 0,
        bytes: state.total * 10,
        is_complete: false,
        open_line: null,
        lines,
        ...state.overrides,
      };
      return { ok: true, value };
    },
    follow(attempt, line, onUpdate) {
      followed.push({ attempt, line: line() });
      sendUpdate = onUpdate;
      return () => {
        sendUpdate = null;
      };
    },
  };
  return {
    source,
    queries,
    followed,
    state,
    isFollowed: () => sendUpdate !== null,
    send: (update: LogUpdate) => sendUpdate?.(update),
    failWith(next: CallFailure | null) {
      failure = next;
    },
  };
}

const settle = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(200));
const problem = (code: 'log_not_begun' | 'log_not_found'): CallFailure => ({
  kind: 'problem',
  status: 404,
  problem: { type: 'about:blank', title: '', status: 404, code, detail: 'none' },
});

test('opens the log at its end and reads other parts only when they become visible', async () => {
  const server = createLogServer(1_000_000);
  const store = createLogStore(server.source);
  await settle();
  expect(server.queries).toEqual([{ limit: 500 }]);
  expect(store.snapshot().state).toMatchObject({ attempt: 2, total_lines: 1_000_000 });
  expect(store.lineAt(999_999)?.text).toBe('line 999999');
  store.want(500_010, 500_060);
  await settle();
  // Later reads name the attempt, so that they continue in the same log when a newer attempt starts.
  expect(server.queries.slice(1)).toEqual([{ attempt: 2, line: 500_000, limit: 500 }]);
  expect(store.lineAt(500_060)?.text).toBe('line 500060');
  store.want(500_020, 500_070);
  await settle();
  expect(server.queries).toHaveLength(2);
});

test('reads no pages that the user only scrolls past', async () => {
  const server = createLogServer(1_000_000);
  const store = createLogStore(server.source);
  await settle();
  for (let line = 0; line < 900_000; line += 10_000) store.want(line, line + 50);
  await settle();
  expect(server.queries.slice(1).map(({ line }) => line)).toEqual([0, 890_000]);
});

test('follows the log after the last known line, and only while the log is watched', async () => {
  const server = createLogServer(10);
  const store = createLogStore(server.source);
  await settle();
  expect(server.isFollowed()).toBe(false);
  store.watch(true);
  expect(server.followed).toEqual([{ attempt: 2, line: 10 }]);
  server.send({ type: 'open' });
  server.send({ type: 'lines', lines: [...logLines(10, 12)], open_line: ' 41%' });
  await settle();
  expect(store.snapshot()).toMatchObject({ tail: 'open', openLine: ' 41%', state: { total_lines: 12 } });
  expect(store.lineAt(11)?.text).toBe('line 11');
  store.watch(false);
  expect(server.isFollowed()).toBe(false);
  expect(store.snapshot().tail).toBe('connecting');
  store.watch(true);
  expect(server.followed.at(-1)).toEqual({ attempt: 2, line: 12 });
  server.send({ type: 'end', next_attempt: 3 });
  expect(server.isFollowed()).toBe(false);
  expect(store.snapshot()).toMatchObject({ tail: 'over', nextAttempt: 3, state: { is_complete: true } });
});

test('keeps streamed lines when a response with fewer lines arrives', async () => {
  const server = createLogServer(5_000);
  const store = createLogStore(server.source);
  store.watch(true);
  await settle();
  server.send({ type: 'lines', lines: [...logLines(5_000, 5_001)], open_line: 'bar' });
  store.want(0, 20);
  await settle();
  expect(store.lineAt(20)?.text).toBe('line 20');
  expect(store.snapshot()).toMatchObject({ openLine: 'bar', state: { total_lines: 5_001 } });
});

test('does not follow a complete log', async () => {
  const server = createLogServer(10, { is_complete: true });
  const store = createLogStore(server.source, 1);
  store.watch(true);
  await settle();
  expect(server.queries).toEqual([{ attempt: 1, limit: 500 }]);
  expect(server.followed).toEqual([]);
  expect(store.snapshot().tail).toBe('over');
});

test('reports a failure and reads no more lines until a retry is requested', async () => {
  const server = createLogServer(10_000);
  const store = createLogStore(server.source);
  await settle();
  server.failWith({ kind: 'unreachable', cause: null });
  store.want(0, 10);
  await settle();
  expect(store.snapshot().failure?.kind).toBe('unreachable');
  store.want(20, 30);
  await settle();
  expect(server.queries).toHaveLength(2);
  server.failWith(null);
  store.retry();
  await settle();
  expect(store.snapshot().failure).toBeNull();
  expect(store.lineAt(25)?.text).toBe('line 25');
});

test.each(['log_not_begun', 'log_not_found'] as const)(
  'retries after %s without reporting a failure',
  async code => {
    const server = createLogServer(3);
    server.failWith(problem(code));
    const store = createLogStore(server.source);
    store.watch(true);
    await settle();
    expect(store.snapshot()).toMatchObject({ isMissing: true, failure: null, state: null });
    server.failWith(null);
    store.checkAgain();
    await settle();
    expect(store.snapshot()).toMatchObject({ isMissing: false, state: { total_lines: 3 } });
    expect(server.isFollowed()).toBe(true);
  },
);

test('treats a log without attempts as not begun, and does not follow the log', async () => {
  const server = createLogServer(0, { attempts: [] });
  const store = createLogStore(server.source);
  store.watch(true);
  await settle();
  expect(store.snapshot()).toMatchObject({ isMissing: true, failure: null, state: null });
  expect(server.isFollowed()).toBe(false);
});

test('notifies subscribers once for many updates, and never after a close', async () => {
  const server = createLogServer(10);
  const store = createLogStore(server.source);
  let notifications = 0;
  store.subscribe(() => {
    notifications += 1;
  });
  store.watch(true);
  await settle();
  const before = notifications;
  for (let line = 10; line < 1_000; line += 1)
    server.send({ type: 'lines', lines: [...logLines(line, line + 1)], open_line: null });
  await settle();
  expect(notifications - before).toBe(1);
  store.close();
  expect(server.isFollowed()).toBe(false);
  await settle();
  expect(notifications - before).toBe(1);
});
