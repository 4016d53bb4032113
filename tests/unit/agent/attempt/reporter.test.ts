import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import { createReporter } from '../../../../agent/attempt/reporter.ts';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import { attemptId, jobId, problemOf, scripted, unreachable } from '../builders.ts';

type Result = Awaited<ReturnType<ApiClient['report']>>;
const taken: Result = { ok: true, value: { success: true } };
const failed = (failure: CallFailure): Result => ({ ok: false, failure });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function startReport(answers: readonly Result[], random = 1) {
  const { calls, answer } = scripted<Parameters<ApiClient['report']>, Result>(answers);
  const troubles: CallFailure[] = [];
  const at: number[] = [];
  const began = Date.now();
  const report = createReporter({
    clock: systemClock,
    api: {
      report: (...args) => {
        at.push(Date.now() - began);
        return answer(...args);
      },
    },
    random: () => random,
    onTrouble: failure => troubles.push(failure),
  });
  const over = new AbortController();
  const answered = report(jobId('j1'), attemptId('a1'), { status: 'completed', exit_code: 0 }, over.signal);
  return { answered, calls, troubles, at, over };
}

it('a report that is taken is sent once, for its attempt', async () => {
  const { answered, calls, troubles } = startReport([taken]);
  expect(await answered).toBe('taken');
  expect(calls).toEqual([['j1', 'a1', { status: 'completed', exit_code: 0 }]]);
  expect(troubles).toEqual([]);
});

describe('answers that time can change', () => {
  it.each<[string, CallFailure]>([
    ['nobody there', unreachable()],
    ['401', problemOf(401)],
    ['408', problemOf(408)],
    ['429', problemOf(429)],
    ['500', problemOf(500)],
    ['502 of a proxy', { kind: 'unexpected', status: 502, detail: 'Bad Gateway' }],
    ['503', problemOf(503)],
    ['507', problemOf(507)],
    ['599', problemOf(599)],
    ['401 of a proxy', { kind: 'unexpected', status: 401, detail: '' }],
  ])('%s: the same report again, until it is taken', async (_what, failure) => {
    const { answered, calls, troubles } = startReport([failed(failure), failed(failure), taken]);
    await vi.runAllTimersAsync();
    expect(await answered).toBe('taken');
    expect(calls).toHaveLength(3);
    expect(new Set(calls.map(call => JSON.stringify(call))).size).toBe(1);
    expect(troubles).toEqual([failure, failure]);
  });

  it('go on for as long as it takes, at most 15.1 s apart', async () => {
    const { at, over } = startReport([failed(unreachable())]);
    await vi.advanceTimersByTimeAsync(3_600_000);
    over.abort();
    expect(at.slice(0, 7)).toEqual([0, 600, 1_700, 3_800, 7_900, 16_000, 31_100]);
    expect(at.at(-1)).toBeGreaterThan(3_600_000 - 15_100);
  });

  it('are never asked for without a pause', async () => {
    const { at, over } = startReport([failed(unreachable())], 0);
    await vi.advanceTimersByTimeAsync(1_000);
    over.abort();
    expect(at).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
  });
});

describe('answers for good', () => {
  it.each<[string, CallFailure]>([
    ...[400, 403, 404, 405, 409, 410, 413, 415, 422].map(
      status => [String(status), problemOf(status)] as [string, CallFailure],
    ),
    ['409 with "stop"', problemOf(409, 'stop')],
    ['200 with a page', { kind: 'unexpected', status: 200, detail: '<html>' }],
    ['404 of a proxy', { kind: 'unexpected', status: 404, detail: '' }],
  ])('%s: refused', async (_what, failure) => {
    const { answered, calls, troubles } = startReport([failed(failure), taken]);
    expect(await answered).toBe('refused');
    expect(calls).toHaveLength(1);
    expect(troubles).toEqual([failure]);
  });
});

describe('a report that is cut', () => {
  it('while it waits for its next try ends at once', async () => {
    const { answered, calls, over } = startReport([failed(unreachable())]);
    await vi.advanceTimersByTimeAsync(100);
    over.abort();
    expect(await answered).toBe('aborted');
    expect(calls).toHaveLength(1);
  });

  it('before it began is never sent', async () => {
    const report = createReporter({
      clock: systemClock,
      api: { report: () => Promise.reject(new Error('sent')) },
      random: () => 0,
      onTrouble: () => {},
    });
    const signal = AbortSignal.abort();
    expect(await report(jobId('j1'), attemptId('a1'), { status: 'failed' }, signal)).toBe('aborted');
  });

  it('while it is taken counts as taken', async () => {
    const { answered, over } = startReport([taken]);
    over.abort();
    expect(await answered).toBe('taken');
  });
});
