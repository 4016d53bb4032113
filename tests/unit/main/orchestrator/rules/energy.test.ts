import { describe, expect, test } from 'vitest';
import {
  addSpan,
  dayMs,
  dayOf,
  energyBetween,
  sumCosts,
  toGpuHours,
  toKwh,
} from '../../../../../main/orchestrator/rules/energy.ts';

const makeReading = (at: number, watts: Readonly<Record<number, number>>) => ({
  at,
  watts: new Map(Object.entries(watts).map(([gpu, value]) => [Number(gpu), value])),
});

describe('energy between two readings', () => {
  test('multiplies the average power of each GPU by the time', () => {
    const joules = energyBetween(
      makeReading(0, { 0: 100, 1: 300 }),
      makeReading(30_000, { 0: 300, 1: 300 }),
      120_000,
    );
    expect(joules).toEqual(
      new Map([
        [0, 6_000],
        [1, 9_000],
      ]),
    );
  });

  test('ignores a GPU that only one of the readings has', () => {
    const joules = energyBetween(
      makeReading(0, { 0: 100, 2: 50 }),
      makeReading(1_000, { 0: 100, 1: 50 }),
      120_000,
    );
    expect(joules).toEqual(new Map([[0, 100]]));
  });

  test.each([
    ['there is no earlier reading', null, 1_000],
    ['the gap is too long', makeReading(0, { 0: 100 }), 120_001],
    ['no time has passed', makeReading(1_000, { 0: 100 }), 1_000],
    ['the clock went back', makeReading(2_000, { 0: 100 }), 1_000],
  ])('returns no energy when %s', (_case, before, at) => {
    expect(energyBetween(before, makeReading(at, { 0: 100 }), 120_000).size).toBe(0);
  });
});

describe('GPU time by day', () => {
  const hourMs = 3_600_000;

  test('splits a time span at midnight, and ignores days outside of the range', () => {
    const days = new Map<number, number>();
    addSpan(days, { startedAt: 22 * hourMs, endedAt: 2 * dayMs + hourMs, gpus: 2 }, 0, 1);
    addSpan(days, { startedAt: dayMs, endedAt: dayMs + hourMs, gpus: 1 }, 0, 1);
    expect(days).toEqual(
      new Map([
        [0, 4 * hourMs],
        [1, 49 * hourMs],
      ]),
    );
  });

  test('ignores a span that ends before it starts, and a span that ends at midnight', () => {
    const days = new Map<number, number>();
    addSpan(days, { startedAt: 5, endedAt: 1, gpus: 1 }, 0, 1);
    addSpan(days, { startedAt: dayMs - 1, endedAt: dayMs, gpus: 1 }, 0, 1);
    expect(days).toEqual(new Map([[0, 1]]));
  });

  test('counts days in UTC from 1970', () => {
    expect(dayOf(Date.UTC(1970, 0, 3, 23, 59))).toBe(2);
  });
});

test('converts joules to kilowatt hours', () => {
  expect(toKwh(7_200_000)).toBe(2);
});

test('adds known costs, and returns null when no cost is known', () => {
  expect(sumCosts([1, null, 2])).toBe(3);
  expect(sumCosts([null])).toBeNull();
});

test('rounds GPU-hours to thousandths of an hour', () => {
  expect(toGpuHours(3_600_000 / 3)).toBe(0.333);
});
