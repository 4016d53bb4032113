import { describe, expect, test } from 'vitest';
import type { ClockMark, ClockReading } from '../../../../../main/orchestrator/ports/index.ts';
import { createTrustedTime } from '../../../../../main/orchestrator/memory/clocks.ts';

const hour = 3_600_000;
const day = 24 * hour;
const noon = Date.UTC(2026, 0, 1, 12);

// Returns the trusted time of a process that starts with this reading.
const timeAtStart = (mark: ClockMark | null, now: ClockReading): number =>
  createTrustedTime(() => now, mark).now();

function open(mark: ClockMark | null = null, start: Partial<ClockReading> = {}) {
  let reading: ClockReading = { wall: noon, sinceBoot: 5 * hour, bootId: 'boot-1', ...start };
  const time = createTrustedTime(() => reading, mark);
  return {
    time,
    // Advances both clocks.
    pass(ms: number) {
      reading = { ...reading, wall: reading.wall + ms, sinceBoot: reading.sinceBoot + ms };
    },
    // Sets the wall clock.
    set(ms: number) {
      reading = { ...reading, wall: reading.wall + ms };
    },
  };
}

test('is whole milliseconds when a start does not trust the wall clock, because the database stores integers', () => {
  const mark = { trusted: noon, sinceBoot: 0.25, bootId: 'boot-1' };
  const inOneBoot = timeAtStart(mark, { wall: noon - day, sinceBoot: 1_000.6, bootId: 'boot-1' });
  const afterBoot = timeAtStart(mark, { wall: noon - day, sinceBoot: 1_000.6, bootId: 'boot-2' });
  expect([inOneBoot, afterBoot]).toEqual([noon + 1_000, noon + 1_000]);
});

test('does not take a restart within the precision of the clocks for another boot', () => {
  const mark = { trusted: noon, sinceBoot: 5 * hour + 7, bootId: 'boot-1' };
  const restarted = { wall: noon + 1, sinceBoot: 5 * hour, bootId: 'boot-1' };
  expect(timeAtStart(mark, restarted)).toBe(noon + 1);
  expect(timeAtStart(mark, { ...restarted, wall: noon - day })).toBe(noon);
});

describe('trusted time while the process runs', () => {
  test('follows the wall clock while it is corrected by seconds', () => {
    const { time, pass, set } = open();
    pass(hour);
    set(30_000);
    expect([time.now(), time.earliest(), time.latest()]).toEqual(Array(3).fill(noon + hour + 30_000));
    expect(time.jumpMs()).toBeNull();
  });

  test('tolerates a clock that drifts over months', () => {
    const { time, pass, set } = open();
    pass(100 * day);
    set(2 * hour);
    expect(time.now()).toBe(noon + 100 * day + 2 * hour);
  });

  test.each([
    ['a day ahead', day],
    ['ten years ahead', 3_650 * day],
    ['two hours back', -2 * hour],
    ['ten years back', -3_650 * day],
  ])('uses the time since boot when the wall clock jumps %s', (_case, jump) => {
    const { time, pass, set } = open();
    pass(hour);
    set(jump);
    pass(hour);
    expect(time.now()).toBe(noon + 2 * hour);
    expect(time.jumpMs()).toBe(jump);
    expect(time.earliest()).toBe(noon + 2 * hour + Math.min(jump, 0));
    expect(time.latest()).toBe(noon + 2 * hour + Math.max(jump, 0));
  });

  test('follows the wall clock again once its jump is undone', () => {
    const { time, pass, set } = open();
    set(day);
    pass(hour);
    set(1_000 - day);
    expect([time.now(), time.jumpMs()]).toEqual([noon + hour + 1_000, null]);
  });
});

describe('trusted time after a restart of the process', () => {
  const mark: ClockMark = { trusted: noon, sinceBoot: 5 * hour, bootId: 'boot-1' };

  test.each([
    ['is right', hour, hour],
    ['is a day ahead', day + hour, hour],
    ['is two hours behind', -hour, hour],
  ])('knows the elapsed time when the wall clock %s', (_case, wall, passed) => {
    const now = { wall: noon + wall, sinceBoot: 6 * hour, bootId: 'boot-1' };
    expect(timeAtStart(mark, now)).toBe(noon + passed);
    expect(createTrustedTime(() => now, mark).mark()).toEqual({
      trusted: noon + passed,
      sinceBoot: 6 * hour,
      bootId: 'boot-1',
    });
  });

  test('trusts the wall clock when no earlier time was stored', () => {
    expect(timeAtStart(null, { wall: noon, sinceBoot: 0, bootId: null })).toBe(noon);
  });
});

describe('trusted time after a restart of the machine', () => {
  const mark: ClockMark = { trusted: noon, sinceBoot: 5 * hour, bootId: 'boot-1' };
  // Returns the trusted time one hour after the boot.
  const resumed = (wall: number, bootId: string | null = 'boot-2') =>
    timeAtStart(mark, { wall, sinceBoot: hour, bootId });

  test.each([
    ['one hour later', noon + hour],
    ['days later', noon + 29 * day],
  ])('trusts the wall clock about the time the machine was off: %s', (_case, wall) => {
    expect(resumed(wall)).toBe(wall);
  });

  test.each([
    ['years later', noon + 3_650 * day],
    ['less than the time since boot', noon],
    ['a time before the last run', noon - 3_650 * day],
  ])('counts only the time since boot when the wall clock says %s', (_case, wall) => {
    expect(resumed(wall)).toBe(noon + hour);
  });

  test('treats a time since boot that went back as another boot', () => {
    expect(resumed(noon + 2 * day, 'boot-1')).toBe(noon + 2 * day);
  });

  test('treats a boot without an id as another boot', () => {
    const nameless = { ...mark, bootId: null };
    expect(timeAtStart(nameless, { wall: noon + 2 * day, sinceBoot: 6 * hour, bootId: null })).toBe(
      noon + 2 * day,
    );
  });
});
