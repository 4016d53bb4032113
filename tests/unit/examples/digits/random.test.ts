import { expect, test } from 'vitest';
import { createRandom, shuffleIndices } from '../../../../examples/digits/random.ts';

function takeNumbers(seed: number, stream: number): number[] {
  const random = createRandom(seed, stream);
  return Array.from({ length: 1000 }, () => random.next());
}

test('returns equal numbers only for equal seeds and streams', () => {
  expect(takeNumbers(7, 1)).toEqual(takeNumbers(7, 1));
  expect(takeNumbers(7, 1)).not.toEqual(takeNumbers(7, 2));
  expect(takeNumbers(7, 1)).not.toEqual(takeNumbers(8, 1));
  expect(takeNumbers(7, 1)).not.toEqual(takeNumbers(1, 7));
});

test('returns numbers that are evenly distributed over [0, 1)', () => {
  const numbers = takeNumbers(0, 0);
  const tenths = Array.from(
    { length: 10 },
    (_, tenth) => numbers.filter(number => Math.floor(number * 10) === tenth).length,
  );
  expect(tenths.reduce((sum, count) => sum + count)).toBe(1000);
  expect(Math.min(...tenths)).toBeGreaterThan(70);
});

test('shuffleIndices returns each index exactly once, in another order', () => {
  const inOrder = Array.from({ length: 200 }, (_, index) => index);
  const order = [...shuffleIndices(200, createRandom(7, 1))];
  expect(order).not.toEqual(inOrder);
  expect(order.toSorted((a, b) => a - b)).toEqual(inOrder);
});
