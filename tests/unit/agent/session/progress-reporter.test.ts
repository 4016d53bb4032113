import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import { systemClock } from '../../../../agent/clock.ts';
import type { Held } from '../../../../agent/job.ts';
import { createProgressReporter } from '../../../../agent/attempt/reports.ts';
import type { StatusReportBody } from '../../../../protocol/worker-api.ts';
import { attemptId, jobId, problemOf, unreachable } from '../builders.ts';

type Result = Awaited<ReturnType<ApiClient['report']>>;
const accepted: Result = { ok: true, value: { success: true } };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const firstAttempt: Held = { jobId: jobId('j1'), attemptId: attemptId('a1') };
const secondAttempt: Held = { jobId: jobId('j1'), attemptId: attemptId('a2') };
const step = (n: number): StatusReportBody => ({ status: 'running', progress: { step: n } });

function createFixture(answer: () => Result | Promise<Result> = () => accepted) {
  const sent: (readonly [attempt: string, step: unknown])[] = [];
  const abandoned: string[] = [];
  const ended = new AbortController();
  /** `alive`: the attempt whose run is alive. */
  const fixture = { alive: 'a1', sent, abandoned, ended };
  const reportProgress = createProgressReporter({
    clock: systemClock,
    api: {
      report: async (_job, attempt, report) => {
        sent.push([attempt, report.progress]);
        return answer();
      },
    },
    slot: () => ({
      alive: attempt => attempt === fixture.alive,
      abandon: job => void abandoned.push(job),
    }),
    ended: ended.signal,
  });
  return Object.assign(fixture, { reportProgress });
}

describe('createProgressReporter', () => {
  it('sends the first progress immediately', () => {
    const { reportProgress, sent } = createFixture();
    reportProgress(firstAttempt, step(1));
    expect(sent).toEqual([['a1', { step: 1 }]]);
  });

  it('sends at most one report per second, with the newest progress', async () => {
    const { reportProgress, sent } = createFixture();
    for (let n = 1; n <= 35; n += 1) {
      reportProgress(firstAttempt, step(n));
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(sent.map(([, progress]) => progress)).toEqual([1, 10, 20, 30].map(n => ({ step: n })));
  });

  it('sends the last progress although no other progress follows', async () => {
    const { reportProgress, sent } = createFixture();
    reportProgress(firstAttempt, step(1));
    reportProgress(firstAttempt, step(2));
    reportProgress(firstAttempt, step(3));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sent.map(([, progress]) => progress)).toEqual([{ step: 1 }, { step: 3 }]);
  });

  it('waits for a slow response before the next report', async () => {
    const slow = Promise.withResolvers<Result>();
    const { reportProgress, sent } = createFixture(() => slow.promise);
    reportProgress(firstAttempt, step(1));
    reportProgress(firstAttempt, step(2));
    await vi.advanceTimersByTimeAsync(9_000);
    expect(sent).toHaveLength(1);
    slow.resolve(accepted);
    await vi.advanceTimersByTimeAsync(999);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toHaveLength(2);
  });

  it.each([
    ['an unreachable server', unreachable()],
    ['503', problemOf(503)],
    ['409 without "stop"', problemOf(409)],
    ['an HTML page', { kind: 'unexpected', status: 200, detail: '' } as const],
  ])('does not repeat a failed report (%s), and abandons no job', async (_title, failure) => {
    const { reportProgress, sent, abandoned } = createFixture(() => ({ ok: false, failure }));
    reportProgress(firstAttempt, step(1));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sent).toHaveLength(1);
    expect(abandoned).toEqual([]);
    reportProgress(firstAttempt, step(2));
    expect(sent).toHaveLength(2);
  });
});

describe('responses with the action stop', () => {
  const stop = (): Result => ({ ok: false, failure: problemOf(409, 'stop') });

  it('abandons the job after a response with the action stop', async () => {
    const { reportProgress, abandoned } = createFixture(stop);
    reportProgress(firstAttempt, step(1));
    await vi.advanceTimersByTimeAsync(0);
    expect(abandoned).toEqual(['j1']);
  });

  it('keeps a newer attempt when the response refers to an older attempt', async () => {
    const slow = Promise.withResolvers<Result>();
    const fixture = createFixture(() => slow.promise);
    fixture.reportProgress(firstAttempt, step(1));
    fixture.alive = secondAttempt.attemptId;
    slow.resolve(stop());
    await vi.advanceTimersByTimeAsync(0);
    expect(fixture.abandoned).toEqual([]);
  });
});

describe('end of an attempt', () => {
  it('drops queued progress after the final report, so that the server does not show the job as running', async () => {
    const fixture = createFixture();
    fixture.reportProgress(firstAttempt, step(1));
    fixture.reportProgress(firstAttempt, step(2));
    fixture.alive = 'none';
    await vi.advanceTimersByTimeAsync(5_000);
    expect(fixture.sent).toHaveLength(1);
  });

  it('leaves no timer when the agent ends', async () => {
    const { reportProgress, ended } = createFixture();
    reportProgress(firstAttempt, step(1));
    reportProgress(firstAttempt, step(2));
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(1);
    ended.abort();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends the progress of the next attempt', async () => {
    const fixture = createFixture();
    fixture.reportProgress(firstAttempt, step(1));
    fixture.reportProgress(firstAttempt, step(2));
    fixture.alive = secondAttempt.attemptId;
    await vi.advanceTimersByTimeAsync(1_000);
    fixture.reportProgress(secondAttempt, step(1));
    expect(fixture.sent).toEqual([
      ['a1', { step: 1 }],
      ['a2', { step: 1 }],
    ]);
  });
});
