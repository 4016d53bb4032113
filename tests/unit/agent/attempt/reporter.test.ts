import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import { createReporter } from '../../../../agent/attempt/reports.ts';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import { attemptId, jobId, problemOf, scriptAnswers, unreachable } from '../builders.ts';

type Result = Awaited<ReturnType<ApiClient['report']>>;
const accepted: Result = { ok: true, value: { success: true } };
const failed = (failure: CallFailure): Result => ({ ok: false, failure });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function startReport(answers: readonly Result[], random = 1) {
  const { calls, answer } = scriptAnswers<Parameters<ApiClient['report']>, Result>(answers);
  const troubles: CallFailure[] = [];
  /** The times of all tries, in ms since the first try. */
  const triesAt: number[] = [];
  const startedAt = Date.now();
  const report = createReporter({
    clock: systemClock,
    api: {
      report: (...args) => {
        triesAt.push(Date.now() - startedAt);
        return answer(...args);
      },
    },
    random: () => random,
    onTrouble: failure => troubles.push(failure),
  });
  const abort = new AbortController();
  const answered = report(jobId('j1'), attemptId('a1'), { status: 'completed', exit_code: 0 }, abort.signal);
  return { answered, calls, troubles, triesAt, abort };
}

it('sends an accepted report only once, with its attempt', async () => {
  const { answered, calls, troubles } = startReport([accepted]);
  expect(await answered).toBe('taken');
  expect(calls).toEqual([['j1', 'a1', { status: 'completed', exit_code: 0 }]]);
  expect(troubles).toEqual([]);
});

describe('temporary failures', () => {
  it.each<[string, CallFailure]>([
    ['an unreachable server', unreachable()],
    ['401', problemOf(401)],
    ['408', problemOf(408)],
    ['429', problemOf(429)],
    ['500', problemOf(500)],
    ['502 from a proxy', { kind: 'unexpected', status: 502, detail: 'Bad Gateway' }],
    ['503', problemOf(503)],
    ['507', problemOf(507)],
    ['599', problemOf(599)],
    ['401 from a proxy', { kind: 'unexpected', status: 401, detail: '' }],
  ])('repeats a report after %s, until it is accepted', async (_title, failure) => {
    const { answered, calls, troubles } = startReport([failed(failure), failed(failure), accepted]);
    await vi.runAllTimersAsync();
    expect(await answered).toBe('taken');
    expect(calls).toHaveLength(3);
    expect(new Set(calls.map(call => JSON.stringify(call))).size).toBe(1);
    expect(troubles).toEqual([failure, failure]);
  });

  it('repeats a report until it is aborted, with pauses of at most 5.1 s', async () => {
    const { triesAt, abort } = startReport([failed(unreachable())]);
    await vi.advanceTimersByTimeAsync(3_600_000);
    abort.abort();
    expect(triesAt.slice(0, 7)).toEqual([0, 600, 1_700, 3_800, 7_900, 13_000, 18_100]);
    expect(triesAt.at(-1)).toBeGreaterThan(3_600_000 - 5_100);
  });

  it('pauses at least 100 ms between the tries of a report', async () => {
    const { triesAt, abort } = startReport([failed(unreachable())], 0);
    await vi.advanceTimersByTimeAsync(1_000);
    abort.abort();
    expect(triesAt).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
  });
});

describe('final refusals', () => {
  it.each<[string, CallFailure]>([
    ...[400, 403, 404, 405, 409, 410, 413, 415, 422].map(
      status => [String(status), problemOf(status)] as [string, CallFailure],
    ),
    ['409 with "stop"', problemOf(409, 'stop')],
    ['200 with an HTML page', { kind: 'unexpected', status: 200, detail: '<html>' }],
    ['404 from a proxy', { kind: 'unexpected', status: 404, detail: '' }],
  ])('drops a report that is refused with %s', async (_title, failure) => {
    const { answered, calls, troubles } = startReport([failed(failure), accepted]);
    expect(await answered).toBe('refused');
    expect(calls).toHaveLength(1);
    expect(troubles).toEqual([failure]);
  });
});

describe('aborted reports', () => {
  it('stops retrying a report immediately when aborted', async () => {
    const { answered, calls, abort } = startReport([failed(unreachable())]);
    await vi.advanceTimersByTimeAsync(100);
    abort.abort();
    expect(await answered).toBe('aborted');
    expect(calls).toHaveLength(1);
  });

  it('sends no report when aborted before the start', async () => {
    const report = createReporter({
      clock: systemClock,
      api: { report: () => Promise.reject(new Error('sent')) },
      random: () => 0,
      onTrouble: () => {},
    });
    const signal = AbortSignal.abort();
    expect(await report(jobId('j1'), attemptId('a1'), { status: 'failed' }, signal)).toBe('aborted');
  });

  it('counts a report as accepted when it is aborted during the answer', async () => {
    const { answered, abort } = startReport([accepted]);
    abort.abort();
    expect(await answered).toBe('taken');
  });
});
