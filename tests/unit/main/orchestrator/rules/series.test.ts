import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bucketsOfPage,
  grow,
  halve,
  maxBuckets,
  pagesOf,
  type Range,
  type Sample,
  thin,
  within,
} from '../../../../../main/orchestrator/rules/metric-rules.ts';
import type { Bucket } from '../../../../../main/orchestrator/ports/outputs.ts';

const sample = (n: number, value: number | null = n): Sample => ({ step: n, ms: n * 10, value });
const samples = (count: number): readonly Sample[] => Array.from({ length: count }, (_, n) => sample(n));
const wholeRange: Range = { fromStep: null, toStep: null, fromMs: null, toMs: null };

// Adds samples like the store, in batches of any size.
function buildCurve(batches: readonly (readonly Sample[])[], limit = maxBuckets): readonly Bucket[] {
  let buckets: readonly Bucket[] = [];
  let width = 1;
  for (const batch of batches) {
    const halved = halve(grow(buckets, batch, width), limit);
    buckets = halved.buckets;
    width *= halved.widened;
  }
  return buckets;
}

describe('building a curve', () => {
  test('keeps one bucket per value while there is space', () => {
    expect(grow([], [sample(1), sample(2, null)], 1)).toEqual([
      {
        firstStep: 1,
        lastStep: 1,
        firstMs: 10,
        lastMs: 10,
        count: 1,
        min: 1,
        max: 1,
        mean: 1,
        last: 1,
        gaps: 0,
      },
      {
        firstStep: 2,
        lastStep: 2,
        firstMs: 20,
        lastMs: 20,
        count: 0,
        min: 0,
        max: 0,
        mean: 0,
        last: 0,
        gaps: 1,
      },
    ]);
  });

  test('merges neighbours and keeps their extremes, mean, last value and gaps', () => {
    const [bucket, ...others] = grow([], [sample(1, 4), sample(2, -2), sample(3, null), sample(4, 7)], 4);
    expect(others).toEqual([]);
    expect(bucket).toEqual({
      firstStep: 1,
      lastStep: 4,
      firstMs: 10,
      lastMs: 40,
      count: 3,
      min: -2,
      max: 7,
      mean: expect.closeTo(3),
      last: 7,
      gaps: 1,
    });
    expect(grow([], [sample(1, null), sample(2, 5)], 2)[0]).toMatchObject({
      count: 1,
      min: 5,
      last: 5,
      gaps: 1,
    });
  });

  test('accepts samples without steps', () => {
    const [bucket] = grow(
      [],
      [{ step: null, ms: 0, value: 1 }, sample(3), { step: null, ms: 50, value: 2 }],
      3,
    );
    expect(bucket).toMatchObject({ firstStep: 3, lastStep: 3, lastMs: 50 });
    expect(grow([], [{ step: null, ms: 0, value: 1 }], 1)[0]).toMatchObject({
      firstStep: null,
      lastStep: null,
    });
  });

  test('computes a finite mean of the largest numbers', () => {
    const [bucket] = grow([], [sample(1, Number.MAX_VALUE), sample(2, Number.MAX_VALUE)], 2);
    expect(bucket?.mean).toBe(Number.MAX_VALUE);
    const [opposite] = grow([], [sample(1, Number.MAX_VALUE), sample(2, -Number.MAX_VALUE)], 2);
    expect(opposite?.mean).toBe(0);
  });

  test('computes the exact mean of equal values', () => {
    const [bucket] = grow(
      [],
      Array.from({ length: 100 }, (_, n) => sample(n, 0.1)),
      100,
    );
    expect(bucket).toMatchObject({ min: 0.1, mean: 0.1, max: 0.1 });
  });

  test('halves the buckets of a full curve and doubles their width', () => {
    const full = grow([], samples(9), 1);
    const { buckets, widened } = halve(full, 8);
    expect([buckets.length, widened]).toEqual([5, 2]);
    expect(buckets.map(({ count }) => count)).toEqual([2, 2, 2, 2, 1]);
    // The half-filled last bucket is filled first.
    expect(grow(buckets, [sample(9), sample(10)], 2).map(({ count }) => count)).toEqual([2, 2, 2, 2, 2, 1]);
    expect(halve(full, 9)).toEqual({ buckets: full, widened: 1 });
    expect(halve(full, 2)).toMatchObject({ widened: 8 });
  });

  test('keeps the single spike of a long curve in bounded space', () => {
    const day = 86_400;
    const batches = Array.from({ length: 7 }, (_, n) =>
      Array.from({ length: day }, (__, second) =>
        sample(n * day + second, n === 3 && second === 5 ? 1e6 : 1),
      ),
    );
    const buckets = buildCurve(batches);
    expect(buckets.length).toBeLessThanOrEqual(maxBuckets);
    expect(buckets.length).toBeGreaterThanOrEqual(maxBuckets / 2);
    expect(buckets.filter(({ max }) => max === 1e6)).toHaveLength(1);
    expect(thin(buckets, 50).filter(({ max }) => max === 1e6)).toHaveLength(1);
  });

  test('loses no value however samples are split into batches', () => {
    const value = fc.option(fc.integer({ min: -1_000, max: 1_000 }), { freq: 10 });
    fc.assert(
      fc.property(
        fc.array(fc.array(value, { maxLength: 40 }), { maxLength: 12 }),
        fc.integer({ min: 2, max: 16 }),
        fc.integer({ min: 1, max: 20 }),
        (valuesOfBatches, limit, points) => {
          let n = 0;
          const batches = valuesOfBatches.map(values => values.map(number => sample((n += 1), number)));
          const allSamples = batches.flat();
          const numbers = allSamples.flatMap(({ value: number }) => number ?? []);
          const curve = buildCurve(batches, limit);
          expect(curve.length).toBeLessThanOrEqual(limit);
          // The result must equal the result of adding the samples one by one.
          expect(curve.map(({ count, gaps }) => count + gaps)).toEqual(
            buildCurve(
              allSamples.map(single => [single]),
              limit,
            ).map(({ count, gaps }) => count + gaps),
          );
          for (const buckets of [curve, thin(curve, points)]) {
            expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(numbers.length);
            expect(buckets.reduce((sum, { gaps }) => sum + gaps, 0)).toBe(allSamples.length - numbers.length);
            const filledBuckets = buckets.filter(({ count }) => count > 0);
            if (numbers.length > 0) {
              expect(Math.min(...filledBuckets.map(({ min }) => min))).toBe(Math.min(...numbers));
              expect(Math.max(...filledBuckets.map(({ max }) => max))).toBe(Math.max(...numbers));
              expect(filledBuckets.at(-1)?.last).toBe(numbers.at(-1));
            }
            const sum = filledBuckets.reduce((total, { mean, count }) => total + mean * count, 0);
            expect(sum).toBeCloseTo(
              numbers.reduce((total, number) => total + number, 0),
              5,
            );
            expect(buckets.map(({ lastStep }) => lastStep)).toEqual(
              buckets.map(({ lastStep }) => lastStep).toSorted((a, b) => Number(a) - Number(b)),
            );
          }
        },
      ),
    );
  });
});

test('splits buckets into pages of fixed size', () => {
  expect(pagesOf([])).toEqual([]);
  const buckets = grow([], samples(bucketsOfPage + 1), 1);
  expect(pagesOf(buckets).map(page => page.length)).toEqual([bucketsOfPage, 1]);
  expect(pagesOf(buckets).flat()).toEqual(buckets);
});

test('reduces a curve to the requested number of buckets, and does not change a shorter curve', () => {
  const buckets = grow([], samples(10), 1);
  expect(thin(buckets, 10)).toBe(buckets);
  expect(thin(buckets, 3).map(({ count }) => count)).toEqual([3, 3, 4]);
  expect(thin(buckets, 1)).toHaveLength(1);
});

describe('cutting a curve', () => {
  const buckets = grow([], [...samples(6), { step: null, ms: 60, value: 1 }], 2);
  const steps = (range: Partial<Range>) =>
    within(buckets, { ...wholeRange, ...range }).map(({ firstStep, lastStep }) => [firstStep, lastStep]);

  test('returns the buckets that overlap the range of steps or times', () => {
    expect(steps({})).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
      [null, null],
    ]);
    expect(steps({ fromStep: 3 })).toEqual([
      [2, 3],
      [4, 5],
    ]);
    expect(steps({ toStep: 2 })).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(steps({ fromStep: 2, toStep: 3 })).toEqual([[2, 3]]);
    expect(steps({ fromMs: 45, toMs: 60 })).toEqual([
      [4, 5],
      [null, null],
    ]);
    expect(steps({ fromMs: 61 })).toEqual([]);
    expect(steps({ toMs: 9 })).toEqual([[0, 1]]);
  });
});
