import fc from 'fast-check';
import { expect, test } from 'vitest';
import { align, nearest, smooth } from '../../../../../../renderer/pages/jobs/curves/aligned.ts';
import { dot, lineOf } from '../../../curves-builders.ts';

const plain = { smoothing: 0, isLog: false };

test('smooths with an exponential mean that has no bias towards zero at the start', () => {
  const four: unknown = expect.closeTo(4, 9);
  expect(smooth([4, 4, 4], 0.9)).toEqual([four, four, four]);
  // The values have the weights 0.5 and 1, so the mean is (0.5 * 2 + 1 * 5) / 1.5.
  expect(smooth([2, 5], 0.5)).toEqual([2, expect.closeTo(4, 9)]);
  expect(smooth([2, null, 5], 0.5)).toEqual([2, null, expect.closeTo(4, 9)]);
  expect(smooth([], 0.5)).toEqual([]);
});

test('keeps the values unchanged without smoothing, and keeps every mean within the range of the values', () => {
  const values = [1, null, 3];
  expect(smooth(values, 0)).toBe(values);
  expect(smooth(values, -4)).toBe(values);
  const value = fc.double({ min: -1e6, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1 }),
      fc.double({ min: 0, max: 5, noNaN: true }),
      (numbers, weight) => {
        const slack = 1e-6 * Math.max(1, ...numbers.map(Math.abs));
        for (const mean of smooth(numbers, weight)) {
          expect(mean).toBeGreaterThanOrEqual(Math.min(...numbers) - slack);
          expect(mean).toBeLessThanOrEqual(Math.max(...numbers) + slack);
        }
      },
    ),
  );
});

test('aligns lines on one axis, and breaks no line at positions that only another line has', () => {
  const { xs, columns, leftOut } = align(
    [lineOf([dot(1, 10), dot(3, null), dot(5, 30)]), lineOf([dot(2, 1), dot(3, 2)], { id: '2/loss' })],
    plain,
  );
  expect(xs).toEqual([1, 2, 3, 5]);
  expect(columns.map(({ value }) => value)).toEqual([
    [10, undefined, null, 30],
    [undefined, 1, 2, undefined],
  ]);
  expect(columns.map(({ raw, low, high }) => [raw, low, high])).toEqual([
    [null, null, null],
    [null, null, null],
  ]);
  expect(leftOut).toBe(0);
});

test('returns the lowest and highest values for thinned points, and the raw values of a smoothed curve', () => {
  const thinned = lineOf([dot(1, 2, { count: 5, min: 1, max: 4 }), dot(2, 6)]);
  const { columns } = align([thinned], { smoothing: 0.5, isLog: false });
  expect(columns).toEqual([
    { value: [2, expect.closeTo(14 / 3, 9)], raw: [2, 6], low: [1, 6], high: [4, 6] },
  ]);
});

test('drops and counts non-positive values on a logarithmic scale', () => {
  const line = lineOf([
    dot(1, 0),
    dot(2, -3, { count: 7 }),
    dot(3, 2, { count: 4, min: -1, max: 5 }),
    dot(4, null),
  ]);
  const { columns, leftOut } = align([line], { smoothing: 0, isLog: true });
  expect(columns).toEqual([
    { value: [null, null, 2, null], raw: null, low: [null, null, 2, null], high: [null, null, 5, null] },
  ]);
  expect(leftOut).toBe(8);
  expect(align([line], plain).leftOut).toBe(0);
  expect(align([], plain)).toEqual({ xs: [], columns: [], leftOut: 0 });
});

test('finds the nearest point with a value within reach of the pointer', () => {
  const dots = [dot(0, 1), dot(10, null), dot(11, 3), dot(30, 4)];
  expect([-5, 5, 6, 20, 25, 99].map(x => nearest(dots, x, 5)?.x)).toEqual([0, 0, 11, 11, 30, undefined]);
  expect(nearest([dot(1, null)], 1, 5)).toBeNull();
  expect(nearest(dots, -6, 5)).toBeNull();
  expect(nearest([], 1, 5)).toBeNull();
});
