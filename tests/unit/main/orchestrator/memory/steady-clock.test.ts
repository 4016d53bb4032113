/**
 * A clock that does not count the pauses of its own process: docs/internals/semantics.md, section 3;
 * docs/internals/faults.md F6, F20.
 */
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../../../main/orchestrator/ports/index.ts';
import { createSteadyClock } from '../../../../../main/orchestrator/memory/steady-clock.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

const times = { tickMs: 1_000, lateMs: 5_000, longPauseMs: 60_000 };
const hour = 3_600_000;

/** A steady clock that has just ticked, on a machine whose time is in the test's hands. */
function makeClock(machine: Partial<Clock> = {}) {
  const real = createVirtualClock();
  const steady = createSteadyClock({ ...real, ...machine }, times);
  steady.start();
  const startedAt = steady.mono();
  return {
    real,
    steady,
    passed: () => steady.mono() - startedAt,
    /** Runs after that long by the steady clock; says when that was. */
    runAfter(ms: number): { readonly ranAt: number[]; readonly cancel: () => void } {
      const ranAt: number[] = [];
      const cancel = steady.after(ms, () => ranAt.push(steady.mono() - startedAt));
      return { ranAt, cancel };
    },
  };
}

test('is as far as the machine’s while nothing holds it up, and tells its wall time', async () => {
  const { real, steady, passed } = makeClock();
  for (const ms of [1, 999, 3_500, 10_000]) await real.advance(ms);
  expect(passed()).toBe(14_500);
  expect(steady.wall()).toBe(real.wall());
  expect(steady.iso(real.wall())).toBe('2026-01-01T12:00:14.500Z');
  expect(steady.takeLongPause()).toBe(false);
});

describe('a pause', () => {
  test.each([
    [0, 0],
    [4_000, 4_000],
    // A tick that comes 5 s late is not late yet.
    [6_000, 6_000],
    [6_001, 1_000],
    [130_000, 1_000],
    [24 * hour, 1_000],
  ])('of %d ms counts %d', async (ms, counted) => {
    const { real, passed } = makeClock();
    await real.pause(ms);
    expect(passed()).toBe(counted);
    await real.advance(10_000);
    expect(passed()).toBe(counted + 10_000);
  });

  test('is found by whoever looks first, before the tick that it held up', async () => {
    const { real, passed } = makeClock({ after: () => () => {} });
    await real.pause(130_000);
    expect(passed()).toBe(1_000);
    expect(passed()).toBe(1_000);
    await real.pause(300);
    expect(passed()).toBe(1_300);
  });

  test('that somebody looked into before it counted as one takes nothing back of what was told', async () => {
    const { real, passed } = makeClock({ after: () => () => {} });
    await real.pause(4_900);
    expect(passed()).toBe(4_900);
    await real.pause(1_200);
    expect(passed()).toBe(4_900);
    await real.pause(300);
    expect(passed()).toBe(5_200);
  });

  test('after a pause: each is taken out', async () => {
    const { real, passed } = makeClock();
    for (let n = 0; n < 3; n++) {
      await real.pause(20_000);
      await real.advance(5_000);
    }
    expect(passed()).toBe(3 * (1_000 + 5_000));
  });

  test.each([
    [61_000, false],
    [61_001, true],
    [130_000, true],
  ])('of %d ms is long: %s', async (ms, long) => {
    const { real, steady } = makeClock();
    await real.pause(ms);
    expect(steady.takeLongPause()).toBe(long);
    expect(steady.takeLongPause()).toBe(false);
    await real.advance(5_000);
    expect(steady.takeLongPause()).toBe(false);
  });

  test('that was long is still known when somebody asks later', async () => {
    const { real, steady } = makeClock();
    await real.pause(130_000);
    await real.advance(30_000);
    expect(steady.takeLongPause()).toBe(true);
  });
});

describe('sleep that stops the machine’s clock', () => {
  test.each([
    [60_000, false],
    [60_001, true],
    [8 * hour, true],
    [10 * 365 * 24 * hour, true],
    [-hour, false],
  ])('and moves the wall clock by %d ms is a long pause: %s', async (ms, long) => {
    const { real, steady, passed } = makeClock();
    real.shiftWall(ms);
    expect(passed()).toBe(0);
    expect(steady.takeLongPause()).toBe(long);
    expect(steady.takeLongPause()).toBe(false);
    await real.advance(10_000);
    expect(passed()).toBe(10_000);
    expect(steady.takeLongPause()).toBe(false);
  });

  test('is seen by the next tick, if nobody looks before', async () => {
    const { real, steady } = makeClock();
    real.shiftWall(hour);
    await real.advance(5_000);
    expect(steady.takeLongPause()).toBe(true);
  });

  test('is not made of many small corrections', async () => {
    const { real, steady } = makeClock();
    for (let n = 0; n < 10; n++) {
      real.shiftWall(20_000);
      await real.advance(1_000);
    }
    expect(steady.takeLongPause()).toBe(false);
  });
});

describe('a timer', () => {
  test('runs in its time', async () => {
    const { real, runAfter } = makeClock();
    const { ranAt } = runAfter(10_000);
    await real.advance(9_999);
    expect(ranAt).toEqual([]);
    await real.advance(1);
    expect(ranAt).toEqual([10_000]);
    await real.advance(60_000);
    expect(ranAt).toHaveLength(1);
  });

  test.each([7_000, 12_000, 130_000])('waits for the rest after a pause of %d ms', async ms => {
    const { real, runAfter } = makeClock();
    const { ranAt } = runAfter(10_000);
    await real.advance(2_000);
    await real.pause(ms);
    expect(ranAt).toEqual([]);
    await real.advance(6_999);
    expect(ranAt).toEqual([]);
    await real.advance(1);
    expect(ranAt).toEqual([10_000]);
  });

  test('of a machine that fires too early waits for the rest', async () => {
    const early = createVirtualClock();
    const after: Clock['after'] = (ms, run) => early.after(Math.ceil(ms / 2), run);
    const steady = createSteadyClock({ ...early, after }, { ...times, tickMs: 100 });
    steady.start();
    const start = steady.mono();
    const ranAt: number[] = [];
    steady.after(10_000, () => ranAt.push(steady.mono() - start));
    await early.advance(9_999);
    expect(ranAt).toEqual([]);
    await early.advance(1);
    expect(ranAt).toEqual([10_000]);
  });

  test('that is taken back does not run, nor when it had begun to wait for the rest', async () => {
    const { real, runAfter } = makeClock();
    const first = runAfter(10_000);
    const second = runAfter(10_000);
    first.cancel();
    await real.advance(2_000);
    await real.pause(130_000);
    second.cancel();
    await real.advance(60_000);
    expect([first.ranAt, second.ranAt]).toEqual([[], []]);
  });
});

test('a clock that was stopped wakes nobody up any more', async () => {
  let set = 0;
  const real = createVirtualClock();
  const after: Clock['after'] = (ms, run) => {
    set += 1;
    return real.after(ms, run);
  };
  const steady = createSteadyClock({ ...real, after }, times);
  steady.stop();
  steady.start();
  await real.advance(3_000);
  expect(set).toBe(4);
  steady.stop();
  await real.advance(60_000);
  expect(set).toBe(4);
});

test('takes a sleep for a long pause when it is told of one, however short it was', async () => {
  const { real, steady, passed } = makeClock();
  await real.pause(2_000);
  expect(steady.takeLongPause()).toBe(false);
  steady.noteLongPause();
  expect(steady.takeLongPause()).toBe(true);
  expect(steady.takeLongPause()).toBe(false);
  expect(passed()).toBe(2_000);
});
