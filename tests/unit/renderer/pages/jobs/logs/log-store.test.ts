import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CallFailure } from '../../../../../../protocol/client.ts';
import { JobId } from '../../../../../../protocol/ids.ts';
import { createLogStore, type LogSource } from '../../../../../../renderer/pages/jobs/logs/log-store.ts';
import type { LogUpdate, PageRead } from '../../../../../../renderer/pages/jobs/logs/log-snapshot.ts';
import { logLines } from '../../../log-builders.ts';

type Query = Parameters<LogSource['read']>[0];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server with a log of this number of lines. The test decides when its answers arrive. */
function openServer(total: number, part: Partial<PageRead> = {}) {
  const asked: Query[] = [];
  const followed: { readonly attempt: number; readonly line: number }[] = [];
  let tell: ((news: LogUpdate) => void) | null = null;
  let failure: CallFailure | null = null;
  const state = { total, part };
  const source: LogSource = {
    async read(query) {
      asked.push(query);
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
        ...state.part,
      };
      return { ok: true, value };
    },
    follow(attempt, line, onUpdate) {
      followed.push({ attempt, line: line() });
      tell = onUpdate;
      return () => {
        tell = null;
      };
    },
  };
  return {
    source,
    asked,
    followed,
    state,
    isFollowed: () => tell !== null,
    say: (news: LogUpdate) => tell?.(news),
    fails(with_: CallFailure | null) {
      failure = with_;
    },
  };
}

const settle = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(200));
const problem = (code: 'log_not_begun' | 'log_not_found'): CallFailure => ({
  kind: 'problem',
  status: 404,
  problem: { type: 'about:blank', title: '', status: 404, code, detail: 'none' },
});

test('opens the log at its end and reads only the visible part of its middle', async () => {
  const server = openServer(1_000_000);
  const book = createLogStore(server.source);
  await settle();
  expect(server.asked).toEqual([{ limit: 500 }]);
  expect(book.snapshot().state).toMatchObject({ attempt: 2, total_lines: 1_000_000 });
  expect(book.lineAt(999_999)?.text).toBe('line 999999');
  book.want(500_010, 500_060);
  await settle();
  // The store keeps reading its attempt even when a newer one exists.
  expect(server.asked.slice(1)).toEqual([{ attempt: 2, line: 500_000, limit: 500 }]);
  expect(book.lineAt(500_060)?.text).toBe('line 500060');
  book.want(500_020, 500_070);
  await settle();
  expect(server.asked).toHaveLength(2);
});

test('skips pages scrolled past', async () => {
  const server = openServer(1_000_000);
  const book = createLogStore(server.source);
  await settle();
  for (let line = 0; line < 900_000; line += 10_000) book.want(line, line + 50);
  await settle();
  expect(server.asked.slice(1).map(({ line }) => line)).toEqual([0, 890_000]);
});

test('follows the log from the known lines only while someone watches', async () => {
  const server = openServer(10);
  const book = createLogStore(server.source);
  await settle();
  expect(server.isFollowed()).toBe(false);
  book.watch(true);
  expect(server.followed).toEqual([{ attempt: 2, line: 10 }]);
  server.say({ type: 'open' });
  server.say({ type: 'lines', lines: [...logLines(10, 12)], open_line: ' 41%' });
  await settle();
  expect(book.snapshot()).toMatchObject({ tail: 'open', openLine: ' 41%', state: { total_lines: 12 } });
  expect(book.lineAt(11)?.text).toBe('line 11');
  book.watch(false);
  expect(server.isFollowed()).toBe(false);
  expect(book.snapshot().tail).toBe('closed');
  book.watch(true);
  expect(server.followed.at(-1)).toEqual({ attempt: 2, line: 12 });
  server.say({ type: 'end', next_attempt: 3 });
  expect(server.isFollowed()).toBe(false);
  expect(book.snapshot()).toMatchObject({ tail: 'over', nextAttempt: 3, state: { is_complete: true } });
});

test('keeps streamed lines when an older response arrives', async () => {
  const server = openServer(5_000);
  const book = createLogStore(server.source);
  book.watch(true);
  await settle();
  server.say({ type: 'lines', lines: [...logLines(5_000, 5_001)], open_line: 'bar' });
  book.want(0, 20);
  await settle();
  expect(book.lineAt(20)?.text).toBe('line 20');
  expect(book.snapshot()).toMatchObject({ openLine: 'bar', state: { total_lines: 5_001 } });
});

test('does not follow a complete log', async () => {
  const server = openServer(10, { is_complete: true });
  const book = createLogStore(server.source, 1);
  book.watch(true);
  await settle();
  expect(server.asked).toEqual([{ attempt: 1, limit: 500 }]);
  expect(server.followed).toEqual([]);
  expect(book.snapshot().tail).toBe('over');
});

test('reports a failure and reads nothing more until asked to retry', async () => {
  const server = openServer(10_000);
  const book = createLogStore(server.source);
  await settle();
  server.fails({ kind: 'unreachable', cause: null });
  book.want(0, 10);
  await settle();
  expect(book.snapshot().failure?.kind).toBe('unreachable');
  book.want(20, 30);
  await settle();
  expect(server.asked).toHaveLength(2);
  server.fails(null);
  book.retry();
  await settle();
  expect(book.snapshot().failure).toBeNull();
  expect(book.lineAt(25)?.text).toBe('line 25');
});

test.each(['log_not_begun', 'log_not_found'] as const)(
  'retries after %s without reporting a failure',
  async code => {
    const server = openServer(3);
    server.fails(problem(code));
    const book = createLogStore(server.source);
    book.watch(true);
    await settle();
    expect(book.snapshot()).toMatchObject({ isMissing: true, failure: null, state: null });
    server.fails(null);
    book.checkAgain();
    await settle();
    expect(book.snapshot()).toMatchObject({ isMissing: false, state: { total_lines: 3 } });
    expect(server.isFollowed()).toBe(true);
  },
);

test('notifies subscribers in batches and never after close', async () => {
  const server = openServer(10);
  const book = createLogStore(server.source);
  let told = 0;
  book.subscribe(() => {
    told += 1;
  });
  book.watch(true);
  await settle();
  const before = told;
  for (let line = 10; line < 1_000; line += 1)
    server.say({ type: 'lines', lines: [...logLines(line, line + 1)], open_line: null });
  await settle();
  expect(told - before).toBe(1);
  book.close();
  expect(server.isFollowed()).toBe(false);
  await settle();
  expect(told - before).toBe(1);
});
