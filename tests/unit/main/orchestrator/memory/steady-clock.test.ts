import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../../../main/orchestrator/ports/index.ts';
import { createSteadyClock } from '../../../../../main/orchestrator/memory/clocks.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';

// See docs/internals/semantics.md, section 3, and docs/internals/faults.md, F6 and F20.

const times = { tickMs: 1_000, lateMs: 5_000, longPauseMs: 60_000 };
const hourMs = 3_600_000;

/** Starts a steady clock. A virtual clock acts as the machine's clock. `machine` overrides functions of that virtual clock. */
function makeClock(machine: Partial<Clock> = {}) {
  const real = createVirtualClock();
  const steady = createSteadyClock({ ...real, ...machine }, times);
  steady.start();
  const startedAt = steady.mono();
  return {
    real,
    steady,
    elapsed: () => steady.mono() - startedAt,
    // Sets a timer, and records the steady times at which the timer ran.
    runAfter(ms: number): { readonly ranAt: number[]; readonly cancel: () => void } {
      const ranAt: number[] = [];
      const cancel = steady.after(ms, () => ranAt.push(steady.mono() - startedAt));
      return { ranAt, cancel };
    },
  };
}

test("runs as fast as the machine's clock without pauses, with the same wall time", async () => {
  const { real, steady, elapsed } = makeClock();
  for (const ms of [1, 999, 3_500, 10_000]) await real.advance(ms);
  expect(elapsed()).toBe(14_500);
  expect(steady.wall()).toBe(real.wall());
  expect(steady.iso(real.wall())).toBe('2026-01-01T12:00:14.500Z');
  expect(steady.takeLongPause()).toBe(false);
});

describe('pauses of the process', () => {
  test.each([
    [0, 0],
    [4_000, 4_000],
    // The clock ticks every second. A delay of more than 5 s counts as a pause.
    [6_000, 6_000],
    [6_001, 1_000],
    [130_000, 1_000],
    [24 * hourMs, 1_000],
  ])('counts a pause of %d ms as %d ms', async (ms, countedMs) => {
    const { real, elapsed } = makeClock();
    await real.pause(ms);
    expect(elapsed()).toBe(countedMs);
    await real.advance(10_000);
    expect(elapsed()).toBe(countedMs + 10_000);
  });

  test('detects a pause on the first read, before the late tick', async () => {
    const { real, elapsed } = makeClock({ after: () => () => {} });
    await real.pause(130_000);
    expect(elapsed()).toBe(1_000);
    expect(elapsed()).toBe(1_000);
    await real.pause(300);
    expect(elapsed()).toBe(1_300);
  });

  test('never runs backwards when the clock was read during a pause that is detected later', async () => {
    const { real, elapsed } = makeClock({ after: () => () => {} });
    await real.pause(4_900);
    expect(elapsed()).toBe(4_900);
    await real.pause(1_200);
    expect(elapsed()).toBe(4_900);
    await real.pause(300);
    expect(elapsed()).toBe(5_200);
  });

  test('subtracts each of several pauses from the steady time', async () => {
    const { real, elapsed } = makeClock();
    for (let n = 0; n < 3; n++) {
      await real.pause(20_000);
      await real.advance(5_000);
    }
    expect(elapsed()).toBe(3 * (1_000 + 5_000));
  });

  test.each([
    [61_000, false],
    [61_001, true],
    [130_000, true],
  ])('reports whether a pause of %d ms is long: %s', async (ms, isLong) => {
    const { real, steady } = makeClock();
    await real.pause(ms);
    expect(steady.takeLongPause()).toBe(isLong);
    expect(steady.takeLongPause()).toBe(false);
    await real.advance(5_000);
    expect(steady.takeLongPause()).toBe(false);
  });

  test('keeps a long pause until the next call of takeLongPause', async () => {
    const { real, steady } = makeClock();
    await real.pause(130_000);
    await real.advance(30_000);
    expect(steady.takeLongPause()).toBe(true);
  });
});

describe('sleep of the machine that stops its clock', () => {
  test.each([
    [60_000, false],
    [60_001, true],
    [8 * hourMs, true],
    [10 * 365 * 24 * hourMs, true],
    [-hourMs, false],
  ])('reports whether a wall clock jump of %d ms is a long pause: %s', async (ms, isLong) => {
    const { real, steady, elapsed } = makeClock();
    real.shiftWall(ms);
    expect(elapsed()).toBe(0);
    expect(steady.takeLongPause()).toBe(isLong);
    expect(steady.takeLongPause()).toBe(false);
    await real.advance(10_000);
    expect(elapsed()).toBe(10_000);
    expect(steady.takeLongPause()).toBe(false);
  });

  test('detects a sleep at the next tick', async () => {
    const { real, steady } = makeClock();
    real.shiftWall(hourMs);
    await real.advance(5_000);
    expect(steady.takeLongPause()).toBe(true);
  });

  test('does not add up small corrections of the wall clock', async () => {
    const { real, steady } = makeClock();
    for (let n = 0; n < 10; n++) {
      real.shiftWall(20_000);
      await real.advance(1_000);
    }
    expect(steady.takeLongPause()).toBe(false);
  });
});

describe('timers of the steady clock', () => {
  test('runs a timer on time', async () => {
    const { real, runAfter } = makeClock();
    const { ranAt } = runAfter(10_000);
    await real.advance(9_999);
    expect(ranAt).toEqual([]);
    await real.advance(1);
    expect(ranAt).toEqual([10_000]);
    await real.advance(60_000);
    expect(ranAt).toHaveLength(1);
  });

  test.each([7_000, 12_000, 130_000])('delays a timer by a pause of %d ms', async ms => {
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

  test("runs a timer on time when the machine's timer fires early", async () => {
    const real = createVirtualClock();
    // Timers of this machine fire after half of the time.
    const after: Clock['after'] = (ms, run) => real.after(Math.ceil(ms / 2), run);
    const steady = createSteadyClock({ ...real, after }, { ...times, tickMs: 100 });
    steady.start();
    const start = steady.mono();
    const ranAt: number[] = [];
    steady.after(10_000, () => ranAt.push(steady.mono() - start));
    await real.advance(9_999);
    expect(ranAt).toEqual([]);
    await real.advance(1);
    expect(ranAt).toEqual([10_000]);
  });

  test('does not run a cancelled timer, even if a pause had delayed it', async () => {
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

test('sets no timers after stop', async () => {
  let timers = 0;
  const real = createVirtualClock();
  const after: Clock['after'] = (ms, run) => {
    timers += 1;
    return real.after(ms, run);
  };
  const steady = createSteadyClock({ ...real, after }, times);
  steady.stop();
  steady.start();
  await real.advance(3_000);
  expect(timers).toBe(4);
  steady.stop();
  await real.advance(60_000);
  expect(timers).toBe(4);
});

test('reports a long pause when the machine announces a short sleep', async () => {
  const { real, steady, elapsed } = makeClock();
  await real.pause(2_000);
  expect(steady.takeLongPause()).toBe(false);
  steady.noteLongPause();
  expect(steady.takeLongPause()).toBe(true);
  expect(steady.takeLongPause()).toBe(false);
  expect(elapsed()).toBe(2_000);
});
