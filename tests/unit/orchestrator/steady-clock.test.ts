/** The orchestrator's own pauses: SEMANTICS.md, section 3. */
import { describe, expect, test } from 'vitest';
import { createSteadyClock } from '../../../main/orchestrator/steady-clock.ts';
import type { Clock } from '../../../main/orchestrator/ports.ts';

const times = { tickMs: 1_000, lateMs: 5_000, longPauseMs: 60_000 };

/** Two clocks that are set by hand, and timers that fire when they are told to. */
function makeMachine() {
  let mono = 50_000;
  let wall = 9_000_000;
  const timers = new Map<number, { readonly at: number; readonly run: () => void }>();
  let made = 0;
  const clock: Clock = {
    mono: () => mono,
    wall: () => wall,
    iso: String,
    after(ms, run) {
      const id = ++made;
      timers.set(id, { at: mono + ms, run });
      return () => void timers.delete(id);
    },
  };
  /** Time passes, and nothing runs meanwhile: the process is stopped, or busy. */
  const freeze = (ms: number): void => {
    mono += ms;
    wall += ms;
  };
  const fireDue = (): void => {
    for (const [id, { at, run }] of timers) if (at <= mono && timers.delete(id)) run();
  };
  return {
    clock,
    freeze,
    fireDue,
    timers,
    run(ms: number): void {
      for (let passed = 0; passed < ms; passed += 500) {
        freeze(500);
        fireDue();
      }
    },
    shiftWall: (ms: number) => void (wall += ms),
  };
}

function start() {
  const machine = makeMachine();
  const steady = createSteadyClock(machine.clock, times);
  steady.start();
  return { machine, steady, began: steady.mono() };
}

test('runs like any clock while the process runs', () => {
  const { machine, steady, began } = start();
  machine.run(120_000);
  expect(steady.mono() - began).toBe(120_000);
  expect(steady.takeLongPause()).toBe(false);
  expect(steady.wall()).toBe(9_120_000);
  expect(steady.iso(5)).toBe('5');
});

describe('a pause of the process', () => {
  test('that is short is counted', () => {
    const { machine, steady, began } = start();
    machine.freeze(6_000);
    expect(steady.mono() - began).toBe(6_000);
  });

  test('is counted as one tick, by whoever looks first', () => {
    const { machine, steady, began } = start();
    machine.freeze(20_000);
    expect(steady.mono() - began).toBe(1_000);
    machine.fireDue();
    machine.run(10_000);
    expect(steady.mono() - began).toBe(11_000);
    expect(steady.takeLongPause()).toBe(false);
  });

  test('that is long is told once', () => {
    const { machine, steady } = start();
    machine.freeze(61_001);
    expect(steady.takeLongPause()).toBe(true);
    expect(steady.takeLongPause()).toBe(false);
  });

  test('several in a row add up', () => {
    const { machine, steady, began } = start();
    for (let pause = 0; pause < 3; pause += 1) {
      machine.freeze(30_000);
      machine.fireDue();
    }
    expect(steady.mono() - began).toBe(3_000);
  });
});

describe('sleep of the machine, which only the wall clock shows', () => {
  test('counts as a long pause and moves nothing', () => {
    const { machine, steady, began } = start();
    machine.shiftWall(3 * 3_600_000);
    machine.run(1_000);
    expect(steady.mono() - began).toBe(1_000);
    expect(steady.takeLongPause()).toBe(true);
    machine.run(5_000);
    expect(steady.takeLongPause()).toBe(false);
  });

  test('is not seen in a clock that was set back', () => {
    const { machine, steady } = start();
    machine.shiftWall(-3_600_000);
    machine.run(2_000);
    expect(steady.takeLongPause()).toBe(false);
  });
});

describe('a timer', () => {
  test('that fires during a pause waits for the rest', () => {
    const { machine, steady } = start();
    let ran = 0;
    steady.after(10_000, () => {
      ran += 1;
    });
    machine.freeze(30_000);
    machine.fireDue();
    expect(ran).toBe(0);
    machine.run(8_500);
    expect(ran).toBe(0);
    machine.run(500);
    expect(ran).toBe(1);
  });

  test('can be taken back, also while it waits for the rest', () => {
    const { machine, steady } = start();
    let ran = 0;
    const count = (): void => {
      ran += 1;
    };
    steady.after(1_000, count)();
    const cancel = steady.after(10_000, count);
    machine.freeze(30_000);
    machine.fireDue();
    cancel();
    machine.run(60_000);
    expect(ran).toBe(0);
  });
});

test('ticks no more once it is stopped', () => {
  const { machine, steady } = start();
  steady.stop();
  expect(machine.timers.size).toBe(0);
  createSteadyClock(machine.clock, times).stop();
});
