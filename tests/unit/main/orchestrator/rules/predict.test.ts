import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Outlook,
  predictPlacement,
  remainingMs,
  type Taker,
} from '../../../../../main/orchestrator/rules/predict.ts';

interface Rig extends Taker {
  readonly name: string;
}

const makeRig = (name: string, freeInMs = 0, takesOne = false): Rig => ({ name, freeInMs, takesOne });
const fitsAll = { fits: (): boolean => true, count: 1 };
const fitsOnly = (...names: readonly string[]) => ({
  fits: ({ name }: Rig): boolean => names.includes(name),
  count: 1,
});

const predictStart = (outlook: Outlook<Rig>): number | null => predictPlacement(outlook)?.inMs ?? null;
const predictWorkers = (outlook: Outlook<Rig>): readonly string[] | null =>
  predictPlacement(outlook)?.workers.map(({ name }) => name) ?? null;

describe('predictPlacement', () => {
  test('returns the workers that the job would take after the jobs ahead', () => {
    const workers = [makeRig('a', 10), makeRig('b', 30), makeRig('c', 20)];
    expect(predictWorkers({ workers, job: fitsAll, ahead: [fitsAll], runMs: 100 })).toEqual(['c']);
    expect(predictWorkers({ workers, job: { ...fitsAll, count: 2 }, ahead: [], runMs: 100 })).toEqual([
      'a',
      'c',
    ]);
    expect(predictWorkers({ workers, job: fitsOnly('d'), ahead: [], runMs: 100 })).toBeNull();
  });

  test('predicts an immediate start when a worker is idle', () => {
    expect(predictStart({ workers: [makeRig('a')], job: fitsAll, ahead: [], runMs: null })).toBe(0);
  });

  test('predicts the start when the first fitting worker becomes idle', () => {
    const workers = [makeRig('a', 10), makeRig('b', 30), makeRig('c', 20)];
    expect(predictStart({ workers, job: fitsOnly('b', 'c'), ahead: [], runMs: null })).toBe(20);
  });

  test('assigns each job ahead to the worker that is idle first', () => {
    const workers = [makeRig('a', 10), makeRig('b', 15)];
    const starts = [0, 1, 2, 3].map(count =>
      predictStart({
        workers,
        job: fitsAll,
        ahead: Array.from({ length: count }, () => fitsAll),
        runMs: 100,
      }),
    );
    expect(starts).toEqual([10, 15, 110, 115]);
  });

  test('ignores jobs ahead that fit other workers or none', () => {
    const workers = [makeRig('a', 10), makeRig('b', 5)];
    const ahead = [fitsOnly('b'), fitsOnly('b'), fitsOnly('no such worker')];
    expect(predictStart({ workers, job: fitsOnly('a'), ahead, runMs: 100 })).toBe(10);
  });

  test('predicts no start without a fitting worker', () => {
    expect(predictStart({ workers: [], job: fitsAll, ahead: [], runMs: 100 })).toBeNull();
    expect(predictStart({ workers: [makeRig('a')], job: fitsOnly('b'), ahead: [], runMs: 100 })).toBeNull();
  });

  test('predicts no start when the duration of the jobs ahead is unknown', () => {
    const outlook = { workers: [makeRig('a')], job: fitsAll, runMs: null };
    expect(predictStart({ ...outlook, ahead: [fitsAll] })).toBeNull();
    expect(predictStart({ ...outlook, workers: [makeRig('a'), makeRig('b', 7)], ahead: [fitsAll] })).toBe(7);
  });

  test('skips a worker that leaves after a job ahead', () => {
    const workers = [makeRig('a', 0, true), makeRig('b', 1000)];
    expect(predictStart({ workers, job: fitsAll, ahead: [fitsAll], runMs: 100 })).toBe(1000);
    expect(
      predictStart({ workers: [makeRig('a', 0, true)], job: fitsAll, ahead: [fitsAll], runMs: 100 }),
    ).toBeNull();
  });
});

describe('predictPlacement for jobs on several workers', () => {
  const pair = { ...fitsAll, count: 2 };

  test('predicts the start when enough workers are idle at the same time', () => {
    const workers = [makeRig('a', 10), makeRig('b', 30), makeRig('c', 20)];
    expect(predictStart({ workers, job: pair, ahead: [], runMs: null })).toBe(20);
    expect(predictStart({ workers, job: { ...fitsAll, count: 4 }, ahead: [], runMs: null })).toBeNull();
  });

  test('keeps all workers of a job on several workers busy until the job ends', () => {
    const workers = [makeRig('a', 10), makeRig('b', 30), makeRig('c', 50)];
    const starts = [1, 2].map(count =>
      predictStart({ workers, job: fitsAll, ahead: Array.from({ length: count }, () => pair), runMs: 100 }),
    );
    expect(starts).toEqual([50, 130]);
  });

  test('ignores a job ahead that never finds enough workers', () => {
    const ahead = [{ ...fitsAll, count: 3 }];
    expect(
      predictStart({ workers: [makeRig('a', 10), makeRig('b', 20)], job: fitsAll, ahead, runMs: 5 }),
    ).toBe(10);
  });
});

describe('predictStart for arbitrary fleets', () => {
  const names = ['a', 'b', 'c', 'd'] as const;
  const anyRigs = fc
    .array(fc.nat(1000), { minLength: 1, maxLength: 4 })
    .map(free => free.map((freeInMs, index) => makeRig(names[index] ?? 'a', freeInMs)));
  const anyNames = fc.subarray([...names], { minLength: 1 });
  // An unknown start counts as later than any known start.
  const toNumber = (start: number | null): number => start ?? Number.POSITIVE_INFINITY;

  test('never predicts an earlier start for one more job ahead', () => {
    fc.assert(
      fc.property(
        anyRigs,
        fc.array(anyNames, { maxLength: 12 }),
        anyNames,
        anyNames,
        fc.nat(12),
        fc.nat(500),
        (workers, workersOfJobsAhead, workersOfAddedJob, workersOfJob, position, runMs) => {
          const job = fitsOnly(...workersOfJob);
          const ahead = workersOfJobsAhead.map(jobWorkers => fitsOnly(...jobWorkers));
          const oneMore = ahead.toSpliced(position, 0, fitsOnly(...workersOfAddedJob));
          const before = predictStart({ workers, job, ahead, runMs });
          const after = predictStart({ workers, job, ahead: oneMore, runMs });
          expect(toNumber(after)).toBeGreaterThanOrEqual(toNumber(before));
        },
      ),
    );
  });

  test('never predicts a later start when a worker is idle earlier', () => {
    fc.assert(
      fc.property(
        anyRigs,
        fc.nat(12),
        fc.nat(500),
        fc.nat(3),
        fc.nat(1000),
        (workers, count, runMs, changedIndex, byMs) => {
          const ahead = Array.from({ length: count }, () => fitsAll);
          const idleEarlier = workers.map((rig, index) =>
            index === changedIndex ? { ...rig, freeInMs: Math.max(0, rig.freeInMs - byMs) } : rig,
          );
          const before = predictStart({ workers, job: fitsAll, ahead, runMs });
          const after = predictStart({ workers: idleEarlier, job: fitsAll, ahead, runMs });
          expect(toNumber(after)).toBeLessThanOrEqual(toNumber(before));
        },
      ),
    );
  });

  test('never predicts a later start for shorter runs', () => {
    fc.assert(
      fc.property(anyRigs, fc.nat(12), fc.nat(500), fc.nat(500), (workers, count, runMs, byMs) => {
        const ahead = Array.from({ length: count }, () => fitsAll);
        const outlook = { workers, job: fitsAll, ahead };
        expect(toNumber(predictStart({ ...outlook, runMs }))).toBeLessThanOrEqual(
          toNumber(predictStart({ ...outlook, runMs: runMs + byMs })),
        );
      }),
    );
  });
});

describe('remainingMs', () => {
  test.each([
    ['the reported time', { eta_s: 12, step: 1, total_steps: 2, steps_per_second: 1 }, 1000, 12_000],
    [
      'the remaining steps at the reported speed',
      { step: 20, total_steps: 100, steps_per_second: 4 },
      null,
      20_000,
    ],
    ['zero after more steps than planned', { step: 120, total_steps: 100, steps_per_second: 4 }, 1, 0],
    ['the elapsed time at half of the steps', { step: 50, total_steps: 100 }, 7000, 7000],
    [
      'the elapsed time at half of the steps with a speed of 0',
      { step: 5, total_steps: 10, steps_per_second: 0 },
      7,
      7,
    ],
    ['three times the elapsed time at a quarter', { percent: 25 }, 1000, 3000],
    ['zero at the end', { percent: 100 }, 1000, 0],
    ['zero beyond the last step', { step: 120, total_steps: 100 }, 1000, 0],
    [
      'a time by percentage when the total number of steps is 0',
      { step: 3, total_steps: 0, percent: 50 },
      10,
      10,
    ],
  ])('estimates the remaining time: %s', (_case, progress, elapsedMs, expected) => {
    expect(remainingMs(progress, elapsedMs)).toBe(expected);
  });

  test.each([
    ['without progress', null, 1000],
    ['at step 0', { step: 0, total_steps: 100 }, 1000],
    ['without a total number of steps', { step: 5 }, 1000],
    ['with only a speed', { steps_per_second: 3 }, 1000],
    ['with an unknown elapsed time', { percent: 50 }, null],
    ['with a speed but no current step', { total_steps: 100, steps_per_second: 3 }, 1000],
  ])('estimates no remaining time %s', (_case, progress, elapsedMs) => {
    expect(remainingMs(progress, elapsedMs)).toBeNull();
  });
});
