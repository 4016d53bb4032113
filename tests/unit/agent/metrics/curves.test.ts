import { describe, expect, test } from 'vitest';
import type { ApiClient } from '../../../../agent/connection/api-client.ts';
import {
  createCurves,
  type Curve,
  type CurveOrigin,
  type CurveDeps,
} from '../../../../agent/metrics/curves.ts';
import type { FileFigures, MetricsFiles } from '../../../../agent/metrics/metrics-files/index.ts';
import type { MetricPoint } from '../../../../protocol/metrics-api.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { attemptId, jobId, problemOf, unreachable } from '../builders.ts';

type Answer = Awaited<ReturnType<ApiClient['uploadPoints']>>;

const accepted = (points: readonly MetricPoint[], base = 0): Answer => ({
  ok: true,
  value: { success: true, next: (points.at(-1)?.n ?? base - 1) + 1, last_step: null, last_elapsed_ms: 0 },
});
const failed = (failure: ReturnType<typeof problemOf>): Answer => ({ ok: false, failure });

function createFixture(
  gpuFigures: CurveDeps['gpuFigures'] = async () => ({}),
  files: MetricsFiles | null = null,
) {
  const clock = createVirtualClock();
  const startedAt = clock.mono();
  const ended = new AbortController();
  const calls: { readonly at: number; readonly points: readonly MetricPoint[] }[] = [];
  const fixture = { answer: (points: readonly MetricPoint[]): Answer | Promise<Answer> => accepted(points) };
  const curves = createCurves({
    clock,
    uptime: clock.mono,
    random: () => 0,
    ended: ended.signal,
    gpuFigures,
    ...(files && { files: { open: () => files, wall: clock.wall } }),
    api: {
      uploadPoints: async (_job, _attempt, points) => {
        calls.push({ at: clock.mono() - startedAt, points });
        return fixture.answer(points);
      },
    },
  });
  const open = (overrides: Partial<CurveOrigin> = {}): Curve =>
    curves.open({
      jobId: jobId('j1'),
      attemptId: attemptId('a1'),
      startedAt,
      isAdopted: false,
      outputDir: null,
      ...overrides,
    });
  const step = (curve: Curve, n: number, isOld = false): void =>
    curve.note({ progress: { step: n, loss: n }, gaps: [] }, isOld);
  const steps = () => calls.flatMap(({ points }) => points.flatMap(each => each.step ?? []));
  return Object.assign(fixture, { clock, ended, calls, curves, open, step, steps });
}

describe('end of a curve', () => {
  test('sends a step that is printed while earlier points are in flight', async () => {
    const fixture = createFixture();
    const { clock, open, step, steps } = fixture;
    const answer = Promise.withResolvers<Answer>();
    fixture.answer = () => answer.promise;
    const curve = open();
    step(curve, 1);
    await clock.advance(5_000);
    expect(steps()).toEqual([1]);
    step(curve, 2);
    curve.finish();
    fixture.answer = points => accepted(points);
    answer.resolve(accepted([{ n: 0, elapsed_ms: 0, values: {} }]));
    await clock.advance(1_000);
    expect(steps()).toEqual([1, 2]);
    expect(await curve.done).toBe(true);
  });

  test('resolves done with true when the server refuses the curve, and with false when the agent ends', async () => {
    const fixture = createFixture();
    const { clock, ended, open, step } = fixture;
    fixture.answer = () => failed(problemOf(409));
    const refused = open();
    step(refused, 1);
    await clock.advance(5_000);
    expect(await refused.done).toBe(true);
    fixture.answer = () => failed(unreachable());
    const interrupted = open();
    step(interrupted, 1);
    interrupted.finish();
    await clock.advance(1_000);
    ended.abort();
    await clock.advance(60_000);
    expect(await interrupted.done).toBe(false);
  });
});

describe('points during a run', () => {
  test('sends points in batches every few seconds, with their elapsed time', async () => {
    const { clock, calls, open, step, steps } = createFixture();
    const curve = open();
    await clock.advance(60_000);
    expect(calls).toEqual([]);
    step(curve, 1);
    await clock.advance(1_000);
    step(curve, 2);
    await clock.advance(5_000);
    expect(steps()).toEqual([1, 2]);
    expect(calls.flatMap(({ points }) => points.map(each => each.elapsed_ms))).toEqual([60_000, 61_000]);
    await clock.advance(60_000);
    expect(calls).toHaveLength(1);
  });

  test('sends all points once and in order when the server is reachable again', async () => {
    const fixture = createFixture();
    const { clock, calls, open, step } = fixture;
    fixture.answer = () => failed(unreachable());
    const curve = open();
    for (let n = 1; n <= 400; n += 1) {
      step(curve, n);
      await clock.advance(500);
    }
    const tries = calls.length;
    expect(tries).toBeGreaterThan(4);
    fixture.answer = points => accepted(points);
    await clock.advance(31_000);
    const sentPoints = calls.slice(tries).flatMap(({ points }) => points);
    expect(sentPoints.map(point => point.step)).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
    expect(sentPoints.map(({ n }) => n)).toEqual(sentPoints.map((_, index) => index));
  });

  test('resends points with the same numbers after a 503 response', async () => {
    const fixture = createFixture();
    const { clock, calls, open, step } = fixture;
    const curve = open();
    fixture.answer = () => failed(problemOf(503));
    step(curve, 1);
    await clock.advance(5_000);
    fixture.answer = points => accepted(points);
    step(curve, 2);
    await clock.advance(10_000);
    const numbersAndSteps = calls.map(({ points }) => points.map(point => [point.n, point.step]));
    expect(numbersAndSteps).toEqual([
      [[0, 1]],
      [
        [0, 1],
        [1, 2],
      ],
    ]);
  });

  test.each([404, 403, 409])('sends no more points after a refusal with %i', async status => {
    const fixture = createFixture();
    const { clock, calls, open, step } = fixture;
    fixture.answer = () => failed(problemOf(status));
    const curve = open();
    for (let n = 1; n < 20; n += 1) {
      step(curve, n);
      await clock.advance(5_000);
    }
    expect(calls).toHaveLength(1);
  });

  test('drops points that the server refuses with 400', async () => {
    const fixture = createFixture();
    const { clock, open, step, steps } = fixture;
    fixture.answer = () => failed(problemOf(400));
    const curve = open();
    step(curve, 1);
    await clock.advance(5_000);
    fixture.answer = points => accepted(points);
    step(curve, 2);
    await clock.advance(5_000);
    expect(steps()).toEqual([1, 2]);
    await clock.advance(60_000);
    expect(steps()).toEqual([1, 2]);
  });

  test('pauses before it resends points that the server did not store', async () => {
    const fixture = createFixture();
    const { clock, calls, open, step } = fixture;
    fixture.answer = () => accepted([]);
    step(open(), 1);
    await clock.advance(6_000);
    // The random part of the pause is 0 here, so each pause has its minimum length.
    expect(calls.map(({ at }) => at)).toEqual([5_000, 5_500, 6_000]);
  });
});

describe('points at the end of a run', () => {
  test('sends the remaining points immediately, and drained() waits for their response', async () => {
    const fixture = createFixture();
    const { clock, curves, open, step, steps } = fixture;
    const curve = open();
    step(curve, 1);
    curve.finish();
    let isSettled = false;
    void curves.drained(2_000).then(() => (isSettled = true));
    await clock.settle();
    expect(steps()).toEqual([1]);
    expect(isSettled).toBe(true);
  });

  test('sends all remaining points, however many there are', async () => {
    const { clock, open, step, steps } = createFixture();
    const curve = open();
    for (let n = 1; n <= 120; n += 1) step(curve, n);
    await clock.advance(4_000);
    curve.finish();
    await clock.settle();
    expect(steps()).toHaveLength(120);
  });

  test('retries until the server responds, while drained() waits no longer than its timeout', async () => {
    const fixture = createFixture();
    const { clock, curves, open, step, calls } = fixture;
    fixture.answer = () => failed(unreachable());
    const curve = open();
    step(curve, 1);
    curve.finish();
    let isSettled = false;
    void curves.drained(2_000).then(() => (isSettled = true));
    await clock.advance(2_000);
    expect(isSettled).toBe(true);
    await clock.advance(60_000);
    const tries = calls.length;
    fixture.answer = points => accepted(points);
    await clock.advance(60_000);
    expect(calls.length).toBe(tries + 1);
  });

  test('sends no points after the agent has ended', async () => {
    const { clock, calls, open, step, ended } = createFixture(async () => ({ 'gpu.0.utilization': 1 }));
    step(open(), 1);
    ended.abort();
    await clock.advance(60_000);
    expect(calls).toEqual([]);
  });
});

test('continues an adopted run after the last step that the server has, with the point number that the server expects', async () => {
  const fixture = createFixture();
  const { clock, calls, open, step } = fixture;
  fixture.answer = points =>
    points.length > 0
      ? accepted(points)
      : { ok: true, value: { success: true, next: 12, last_step: 4, last_elapsed_ms: 0 } };
  await clock.advance(9_000);
  const curve = open({ isAdopted: true });
  for (let n = 1; n <= 6; n += 1) step(curve, n, true);
  step(curve, 7);
  await clock.advance(5_000);
  expect(calls.map(({ points }) => points.map(({ n, step: at, elapsed_ms }) => [n, at, elapsed_ms]))).toEqual(
    [
      [],
      [
        [12, 5, 3_000],
        [13, 6, 6_000],
        [14, 7, 9_000],
      ],
    ],
  );
});

describe('GPU figures', () => {
  test('reads GPU figures every ten seconds during a run, and not before or after', async () => {
    let reads = 0;
    const { clock, calls, open } = createFixture(async () => {
      reads += 1;
      return { 'gpu.0.utilization': reads };
    });
    await clock.advance(60_000);
    expect(reads).toBe(0);
    const curve = open();
    await clock.advance(60_000);
    expect(reads).toBe(6);
    curve.finish();
    await clock.advance(60_000);
    expect(reads).toBe(6);
    const points = calls.flatMap(({ points: sent }) => sent);
    expect(points.map(({ elapsed_ms }) => elapsed_ms % 10_000)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(points.at(-1)?.values).toEqual({ 'gpu.0.utilization': 6 });
  });

  test.each<[string, () => Promise<never>]>([
    ['hangs', () => new Promise<never>(() => {})],
    ['fails', () => Promise.reject(new Error('no answer'))],
  ])(
    'continues without GPU figures when the driver %s, and queries the driver rarely',
    async (_title, answer) => {
      let reads = 0;
      const { clock, open, step, steps } = createFixture(() => {
        reads += 1;
        return answer();
      });
      const curve = open();
      for (let n = 1; n <= 60; n += 1) {
        step(curve, n);
        await clock.advance(10_000);
      }
      expect(steps()).toHaveLength(60);
      expect(reads).toBeLessThanOrEqual(5);
      expect(reads).toBeGreaterThan(1);
    },
  );
});

describe('points during a send', () => {
  /** Delays each answer of the server by this time. */
  const delayAnswers = (fixture: ReturnType<typeof createFixture>, ms: number): void => {
    fixture.answer = points =>
      new Promise(resolve => void fixture.clock.after(ms, () => resolve(accepted(points))));
  };

  test('sends the last step of a run that ends during a send', async () => {
    const fixture = createFixture();
    delayAnswers(fixture, 300);
    const curve = fixture.open();
    fixture.step(curve, 1);
    await fixture.clock.advance(5_100);
    expect(fixture.calls).toHaveLength(1);
    fixture.step(curve, 2);
    curve.finish();
    await fixture.clock.advance(10_000);
    expect(fixture.steps()).toEqual([1, 2]);
  });

  test('defers points that arrive during a send to the next send', async () => {
    const fixture = createFixture();
    delayAnswers(fixture, 300);
    const curve = fixture.open();
    for (let n = 1; n <= 600; n += 1) {
      fixture.step(curve, n);
      await fixture.clock.advance(100);
    }
    expect(fixture.calls.length).toBeLessThanOrEqual(12);
    curve.finish();
    await fixture.clock.advance(10_000);
    expect(fixture.steps()).toEqual(Array.from({ length: 600 }, (_, index) => index + 1));
  });

  test('sends a backlog in consecutive calls of 150 points', async () => {
    const fixture = createFixture();
    fixture.answer = () => failed(unreachable());
    const curve = fixture.open();
    for (let n = 1; n <= 400; n += 1) {
      fixture.step(curve, n);
      await fixture.clock.advance(500);
    }
    const tries = fixture.calls.length;
    delayAnswers(fixture, 300);
    await fixture.clock.advance(32_000);
    expect(fixture.calls.slice(tries).map(({ points }) => points.length)).toEqual([150, 150, 100]);
  });
});

describe('metrics files', () => {
  const point = (step: number): FileFigures['live'][number] => ({
    step,
    epoch: undefined,
    values: { loss: step },
    wallMs: null,
  });
  /** Creates metrics files whose reads return these results in order, and then no points. */
  const filesOf = (
    ...results: readonly (FileFigures | Promise<never>)[]
  ): MetricsFiles & { skipped: number } => {
    const remaining = [...results];
    return {
      skipped: 0,
      async skipEarlier() {
        this.skipped += 1;
      },
      read: async () => (await remaining.shift()) ?? { live: [], late: [], isBehind: false },
    };
  };
  const figures = (isBehind: boolean, ...steps: readonly number[]): FileFigures => ({
    live: steps.map(point),
    late: [],
    isBehind,
  });

  test('reads metrics files before each send, and reports their figures as progress', async () => {
    const { clock, steps, open } = createFixture(undefined, filesOf(figures(false, 1, 2), figures(false, 3)));
    const progress: object[] = [];
    open({ outputDir: '/out', onProgress: each => progress.push(each) });
    await clock.advance(10_000);
    expect(steps()).toEqual([1, 2, 3]);
    expect(progress).toEqual([
      { step: 2, loss: 2 },
      { step: 3, loss: 3 },
    ]);
  });

  test('reads metrics files to their end after the run', async () => {
    // Each of the 20 reads returns one step, and only the last read reaches the end of the files.
    const expectedSteps = Array.from({ length: 20 }, (_, index) => index + 1);
    const results = expectedSteps.map(step => figures(step < 20, step));
    const { clock, steps, open } = createFixture(undefined, filesOf(...results));
    const curve = open({ outputDir: '/out' });
    curve.finish();
    await clock.advance(1_000);
    expect(await curve.done).toBe(true);
    expect(steps()).toEqual(expectedSteps);
  });

  test('does not wait for metrics files on a hanging disk', async () => {
    const { clock, step, steps, open } = createFixture(undefined, filesOf(new Promise<never>(() => {})));
    const curve = open({ outputDir: '/out' });
    step(curve, 1);
    await clock.advance(15_000);
    expect(steps()).toEqual([1]);
    curve.finish();
    await clock.advance(30_000);
    expect(await curve.done).toBe(true);
  });

  test('skips metrics files from before a new run, but not after a restart of the agent', async () => {
    const files = filesOf();
    const { open } = createFixture(undefined, files);
    await open({ outputDir: '/out', isAdopted: true }).ready;
    expect(files.skipped).toBe(0);
    await open({ outputDir: '/out' }).ready;
    expect(files.skipped).toBe(1);
  });
});
