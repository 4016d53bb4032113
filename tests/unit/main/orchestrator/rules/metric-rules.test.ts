import { describe, expect, test } from 'vitest';
import {
  metricsRefusal,
  newPoints,
  pointOf,
  samplesByKey,
} from '../../../../../main/orchestrator/rules/metric-rules.ts';
import type { Attempt, AttemptEnd } from '../../../../../main/orchestrator/model.ts';
import type { MetricPoint } from '../../../../../protocol/metrics-api.ts';
import { AttemptId, WorkerId } from '../../../../../protocol/ids.ts';
import { jobId, makeAttempt, makeJob } from '../../../../contract/store/builders.ts';

const attemptWithOutcome = (n: number, worker: string, outcome: AttemptEnd['outcome'] | null): Attempt =>
  makeAttempt(jobId('j_1'), {
    id: AttemptId.parse(`a_${n}`),
    n,
    workerId: WorkerId.parse(worker),
    end:
      outcome === null
        ? null
        : { at: 0, outcome, charged: false, cause: null, error: null, exitCode: null, signal: null },
  });

/** Returns the refusal code when `worker` sends points of attempt `n`, or null. The last attempt is the newest. */
const refusalCode = (attempts: readonly Attempt[], worker: string, n: number): string | null =>
  metricsRefusal(
    { ...makeJob(1), attempt: attempts.at(-1) ?? null },
    attempts,
    WorkerId.parse(worker),
    AttemptId.parse(`a_${n}`),
  )?.code ?? null;

describe('accepting points of an attempt', () => {
  test('accepts points only from the worker of the attempt', () => {
    const attempts = [attemptWithOutcome(1, 'w_1', null)];
    expect(refusalCode(attempts, 'w_1', 1)).toBeNull();
    expect(refusalCode(attempts, 'w_2', 1)).toBe('not_your_job');
    expect(refusalCode(attempts, 'w_1', 2)).toBe('not_your_job');
    expect(refusalCode([], 'w_1', 1)).toBe('not_your_job');
  });

  test.each(['completed', 'failed', 'cancelled', 'requeued'] as const)(
    'accepts points after the end of the attempt (%s), even beside a newer attempt',
    outcome => {
      expect(refusalCode([attemptWithOutcome(1, 'w_1', outcome)], 'w_1', 1)).toBeNull();
      expect(
        refusalCode([attemptWithOutcome(1, 'w_1', outcome), attemptWithOutcome(2, 'w_2', null)], 'w_1', 1),
      ).toBeNull();
    },
  );

  test.each(['given_up', 'withdrawn'] as const)(
    'refuses points of a %s attempt once a newer attempt exists',
    outcome => {
      expect(refusalCode([attemptWithOutcome(1, 'w_1', outcome)], 'w_1', 1)).toBeNull();
      expect(
        refusalCode([attemptWithOutcome(1, 'w_1', outcome), attemptWithOutcome(2, 'w_2', null)], 'w_1', 1),
      ).toBe('attempt_superseded');
    },
  );
});

const makePoint = (n: number, changes: Partial<MetricPoint> = {}): MetricPoint => ({
  n,
  elapsed_ms: n * 1_000,
  values: { loss: n },
  ...changes,
});

test('drops points whose numbers were received before or appear twice', () => {
  const numbersOf = (points: readonly MetricPoint[], next: number) =>
    newPoints(points, next).map(({ n }) => n);
  expect(numbersOf([makePoint(3), makePoint(4)], 0)).toEqual([3, 4]);
  expect(numbersOf([makePoint(3), makePoint(4), makePoint(5)], 4)).toEqual([4, 5]);
  expect(numbersOf([makePoint(7), makePoint(5), makePoint(7)], 4)).toEqual([5, 7]);
  expect(numbersOf([makePoint(1)], 4)).toEqual([]);
  expect(
    newPoints([makePoint(1, { values: { a: 1 } }), makePoint(1, { values: { a: 2 } })], 0),
  ).toMatchObject([{ values: { a: 1 } }]);
});

test('groups values by key, with a separate series for epochs, and never lets the time decrease', () => {
  const points = [
    makePoint(0, { elapsed_ms: 50, step: 1, epoch: 2, values: { loss: 1, lr: null } }),
    makePoint(1, { elapsed_ms: 10, values: { loss: 2 } }),
    makePoint(2, { elapsed_ms: 90, epoch: 2, values: { epoch: 7 } }),
  ];
  expect(Object.fromEntries(samplesByKey(points, 40))).toEqual({
    epoch: [
      { step: 1, ms: 50, value: 2 },
      { step: null, ms: 90, value: 7 },
    ],
    loss: [
      { step: 1, ms: 50, value: 1 },
      { step: null, ms: 50, value: 2 },
    ],
    lr: [{ step: 1, ms: 50, value: null }],
  });
});

describe('pointOf', () => {
  const run = { next: 4, lastStep: 10 };

  test('converts a progress report to a point with all its figures', () => {
    const progress = {
      step: 11,
      epoch: 1,
      loss: 0.5,
      learning_rate: 1e-4,
      metrics: { 'grad norm': 2, '  ': 1 },
    };
    expect(pointOf(progress, run, 500)).toEqual({
      n: 4,
      elapsed_ms: 500,
      step: 11,
      epoch: 1,
      values: { loss: 0.5, learning_rate: 1e-4, grad_norm: 2 },
    });
    expect(pointOf({ loss: 1 }, run, -3)).toMatchObject({ elapsed_ms: 0, values: { loss: 1 } });
  });

  test('returns null for a progress report without new figures', () => {
    expect(pointOf({ step: 11, percent: 50, eta_s: 3 }, run, 0)).toBeNull();
    expect(pointOf({ step: 10, loss: 1 }, run, 0)).toBeNull();
  });
});
