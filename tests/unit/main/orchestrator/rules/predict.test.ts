/** The estimated start time of a job is plausible. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { predictStart, remainingMs, type Taker } from '../../../../../main/orchestrator/rules/predict.ts';

interface Rig extends Taker {
  readonly name: string;
}

const makeRig = (name: string, freeInMs = 0, takesOne = false): Rig => ({ name, freeInMs, takesOne });
const all = (): boolean => true;
const only =
  (...names: readonly string[]) =>
  ({ name }: Rig): boolean =>
    names.includes(name);

describe('a job starts', () => {
  test('at once when a worker is free', () => {
    expect(predictStart({ workers: [makeRig('a')], fits: all, ahead: [], runMs: null })).toBe(0);
  });

  test('when the first of the workers that it fits is free', () => {
    const workers = [makeRig('a', 10), makeRig('b', 30), makeRig('c', 20)];
    expect(predictStart({ workers, fits: only('b', 'c'), ahead: [], runMs: null })).toBe(20);
  });

  test('after those before it, each on the worker that is free soonest', () => {
    const workers = [makeRig('a', 10), makeRig('b', 15)];
    const starts = [0, 1, 2, 3].map(count =>
      predictStart({ workers, fits: all, ahead: Array.from({ length: count }, () => all), runMs: 100 }),
    );
    expect(starts).toEqual([10, 15, 110, 115]);
  });

  test('no later for those that fit other workers, or none', () => {
    const workers = [makeRig('a', 10), makeRig('b', 5)];
    const ahead = [only('b'), only('b'), only('nobody')];
    expect(predictStart({ workers, fits: only('a'), ahead, runMs: 100 })).toBe(10);
  });

  test('nobody knows when, without a worker that will be free', () => {
    expect(predictStart({ workers: [], fits: all, ahead: [], runMs: 100 })).toBeNull();
    expect(predictStart({ workers: [makeRig('a')], fits: only('b'), ahead: [], runMs: 100 })).toBeNull();
  });

  test('nobody knows when, if nobody knows how long those before it run', () => {
    const outlook = { workers: [makeRig('a')], fits: all, runMs: null };
    expect(predictStart({ ...outlook, ahead: [all] })).toBeNull();
    expect(predictStart({ ...outlook, workers: [makeRig('a'), makeRig('b', 7)], ahead: [all] })).toBe(7);
  });

  test('on another worker when one before it takes an agent that leaves', () => {
    const workers = [makeRig('a', 0, true), makeRig('b', 1000)];
    expect(predictStart({ workers, fits: all, ahead: [all], runMs: 100 })).toBe(1000);
    expect(
      predictStart({ workers: [makeRig('a', 0, true)], fits: all, ahead: [all], runMs: 100 }),
    ).toBeNull();
  });
});

describe('whatever the fleet', () => {
  const names = ['a', 'b', 'c', 'd'] as const;
  const rigs = fc
    .array(fc.nat(1000), { minLength: 1, maxLength: 4 })
    .map(free => free.map((freeInMs, index) => makeRig(names[index] ?? 'a', freeInMs)));
  const wishes = fc.array(fc.subarray([...names], { minLength: 1 }), { maxLength: 12 });
  const wish = fc.subarray([...names], { minLength: 1 });
  const later = (start: number | null): number => start ?? Number.POSITIVE_INFINITY;

  test('one more before it makes it no earlier', () => {
    fc.assert(
      fc.property(
        rigs,
        wishes,
        wish,
        wish,
        fc.nat(12),
        fc.nat(500),
        (workers, ahead, more, own, at, runMs) => {
          const fits = only(...own);
          const rivals = ahead.map(one => only(...one));
          const grown = rivals.toSpliced(at, 0, only(...more));
          const [few, many] = [rivals, grown].map(line =>
            predictStart({ workers, fits, ahead: line, runMs }),
          );
          expect(later(many ?? null)).toBeGreaterThanOrEqual(later(few ?? null));
        },
      ),
    );
  });

  test('among workers that all fit, a faster one makes it no later', () => {
    fc.assert(
      fc.property(
        rigs,
        fc.nat(12),
        fc.nat(500),
        fc.nat(3),
        fc.nat(1000),
        (workers, count, runMs, which, by) => {
          const ahead = Array.from({ length: count }, () => all);
          const faster = workers.map((rig, index) =>
            index === which ? { ...rig, freeInMs: Math.max(0, rig.freeInMs - by) } : rig,
          );
          const [slow, fast] = [workers, faster].map(rigsOf =>
            predictStart({ workers: rigsOf, fits: all, ahead, runMs }),
          );
          expect(later(fast ?? null)).toBeLessThanOrEqual(later(slow ?? null));
        },
      ),
    );
  });

  test('shorter runs make it no later', () => {
    fc.assert(
      fc.property(rigs, fc.nat(12), fc.nat(500), fc.nat(500), (workers, count, runMs, by) => {
        const ahead = Array.from({ length: count }, () => all);
        const outlook = { workers, fits: all, ahead };
        expect(later(predictStart({ ...outlook, runMs }))).toBeLessThanOrEqual(
          later(predictStart({ ...outlook, runMs: runMs + by })),
        );
      }),
    );
  });
});

describe('a trainer still needs', () => {
  test.each([
    ['what it says itself', { eta_s: 12, step: 1, total_steps: 2, steps_per_second: 1 }, 1000, 12_000],
    ['its steps at its speed', { step: 20, total_steps: 100, steps_per_second: 4 }, null, 20_000],
    ['nothing when it has done more than all', { step: 120, total_steps: 100, steps_per_second: 4 }, 1, 0],
    ['as long again at half of its steps', { step: 50, total_steps: 100 }, 7000, 7000],
    ['as long again at half, whatever a speed of 0', { step: 5, total_steps: 10, steps_per_second: 0 }, 7, 7],
    ['three times as long at a quarter', { percent: 25 }, 1000, 3000],
    ['nothing at the end', { percent: 100 }, 1000, 0],
    ['nothing beyond it', { step: 120, total_steps: 100 }, 1000, 0],
    ['by its percentage where its steps have no end', { step: 3, total_steps: 0, percent: 50 }, 10, 10],
  ])('%s', (_what, progress, elapsedMs, expected) => {
    expect(remainingMs(progress, elapsedMs)).toBe(expected);
  });

  test.each([
    ['without a word', null, 1000],
    ['at the beginning', { step: 0, total_steps: 100 }, 1000],
    ['without an end', { step: 5 }, 1000],
    ['with a speed and nothing else', { steps_per_second: 3 }, 1000],
    ['with a part that is done, of nobody knows what time', { percent: 50 }, null],
    ['with a speed that leads to no step', { total_steps: 100, steps_per_second: 3 }, 1000],
  ])('nobody knows how long %s', (_what, progress, elapsedMs) => {
    expect(remainingMs(progress, elapsedMs)).toBeNull();
  });
});
