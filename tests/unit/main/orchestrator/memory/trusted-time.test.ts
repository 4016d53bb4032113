import { describe, expect, test } from 'vitest';
import type { ClockMark, ClockReading } from '../../../../../main/orchestrator/ports/index.ts';
import { createTrustedTime } from '../../../../../main/orchestrator/memory/clocks.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const noon = Date.UTC(2026, 0, 1, 12);

// Returns the trusted time of a process that starts with the clock reading `now`. `mark` is the last stored time, or null.
const timeAtStart = (mark: ClockMark | null, now: ClockReading): number =>
  createTrustedTime(() => now, mark).now();

// Creates the trusted time of a process, with clocks that the test controls.
function openTime(mark: ClockMark | null = null, start: Partial<ClockReading> = {}) {
  let reading: ClockReading = { wall: noon, sinceBoot: 5 * hourMs, bootId: 'boot-1', ...start };
  const time = createTrustedTime(() => reading, mark);
  return {
    time,
    // Advances both clocks.
    advance(ms: number) {
      reading = { ...reading, wall: reading.wall + ms, sinceBoot: reading.sinceBoot + ms };
    },
    // Shifts only the wall clock.
    shiftWall(ms: number) {
      reading = { ...reading, wall: reading.wall + ms };
    },
  };
}

test('returns whole milliseconds when the wall clock is not trusted at the start', () => {
  const mark = { trusted: noon, sinceBoot: 0.25, bootId: 'boot-1' };
  const inOneBoot = timeAtStart(mark, { wall: noon - dayMs, sinceBoot: 1_000.6, bootId: 'boot-1' });
  const afterBoot = timeAtStart(mark, { wall: noon - dayMs, sinceBoot: 1_000.6, bootId: 'boot-2' });
  expect([inOneBoot, afterBoot]).toEqual([noon + 1_000, noon + 1_000]);
});

test('tolerates a time since boot that goes back by a few milliseconds when the process restarts', () => {
  const mark = { trusted: noon, sinceBoot: 5 * hourMs + 7, bootId: 'boot-1' };
  const restarted = { wall: noon + 1, sinceBoot: 5 * hourMs, bootId: 'boot-1' };
  expect(timeAtStart(mark, restarted)).toBe(noon + 1);
  expect(timeAtStart(mark, { ...restarted, wall: noon - dayMs })).toBe(noon);
});

describe('trusted time while the process runs', () => {
  test('follows corrections of the wall clock by seconds', () => {
    const { time, advance, shiftWall } = openTime();
    advance(hourMs);
    shiftWall(30_000);
    expect([time.now(), time.earliest(), time.latest()]).toEqual(Array(3).fill(noon + hourMs + 30_000));
    expect(time.jumpMs()).toBeNull();
  });

  test('tolerates a clock that drifts over months', () => {
    const { time, advance, shiftWall } = openTime();
    advance(100 * dayMs);
    shiftWall(2 * hourMs);
    expect(time.now()).toBe(noon + 100 * dayMs + 2 * hourMs);
  });

  test.each([
    ['a day ahead', dayMs],
    ['ten years ahead', 3_650 * dayMs],
    ['two hours back', -2 * hourMs],
    ['ten years back', -3_650 * dayMs],
  ])('uses the time since boot when the wall clock jumps %s', (_case, jump) => {
    const { time, advance, shiftWall } = openTime();
    advance(hourMs);
    shiftWall(jump);
    advance(hourMs);
    expect(time.now()).toBe(noon + 2 * hourMs);
    expect(time.jumpMs()).toBe(jump);
    expect(time.earliest()).toBe(noon + 2 * hourMs + Math.min(jump, 0));
    expect(time.latest()).toBe(noon + 2 * hourMs + Math.max(jump, 0));
  });

  test('follows the wall clock again once its jump is undone', () => {
    const { time, advance, shiftWall } = openTime();
    shiftWall(dayMs);
    advance(hourMs);
    shiftWall(1_000 - dayMs);
    expect([time.now(), time.jumpMs()]).toEqual([noon + hourMs + 1_000, null]);
  });
});

describe('trusted time after a restart of the process', () => {
  const mark: ClockMark = { trusted: noon, sinceBoot: 5 * hourMs, bootId: 'boot-1' };

  test.each([
    ['is right', hourMs, hourMs],
    ['is a day ahead', dayMs + hourMs, hourMs],
    ['is two hours behind', -hourMs, hourMs],
  ])(
    'adds the elapsed time since boot to the last trusted time when the wall clock %s',
    (_case, wallShiftMs, elapsedMs) => {
      const now = { wall: noon + wallShiftMs, sinceBoot: 6 * hourMs, bootId: 'boot-1' };
      expect(timeAtStart(mark, now)).toBe(noon + elapsedMs);
      expect(createTrustedTime(() => now, mark).mark()).toEqual({
        trusted: noon + elapsedMs,
        sinceBoot: 6 * hourMs,
        bootId: 'boot-1',
      });
    },
  );

  test('trusts the wall clock when no earlier time was stored', () => {
    expect(timeAtStart(null, { wall: noon, sinceBoot: 0, bootId: null })).toBe(noon);
  });
});

describe('trusted time after a restart of the machine', () => {
  const mark: ClockMark = { trusted: noon, sinceBoot: 5 * hourMs, bootId: 'boot-1' };
  // Returns the trusted time one hour after the boot.
  const oneHourAfterBoot = (wall: number, bootId: string | null = 'boot-2') =>
    timeAtStart(mark, { wall, sinceBoot: hourMs, bootId });

  test.each([
    ['one hour later', noon + hourMs],
    ['days later', noon + 29 * dayMs],
  ])('trusts the wall clock after the machine was off when the clock shows %s', (_case, wall) => {
    expect(oneHourAfterBoot(wall)).toBe(wall);
  });

  test.each([
    ['years later', noon + 3_650 * dayMs],
    ['less than the time since boot', noon],
    ['a time before the last run', noon - 3_650 * dayMs],
  ])('counts only the time since boot when the wall clock shows %s', (_case, wall) => {
    expect(oneHourAfterBoot(wall)).toBe(noon + hourMs);
  });

  test('treats a time since boot that went back as another boot', () => {
    expect(oneHourAfterBoot(noon + 2 * dayMs, 'boot-1')).toBe(noon + 2 * dayMs);
  });

  test('treats a boot without an id as another boot', () => {
    const markWithoutBootId = { ...mark, bootId: null };
    expect(
      timeAtStart(markWithoutBootId, { wall: noon + 2 * dayMs, sinceBoot: 6 * hourMs, bootId: null }),
    ).toBe(noon + 2 * dayMs);
  });
});
