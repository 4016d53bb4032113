import { expect, it } from 'vitest';
import { createUseFilter } from '../../../../agent/availability/use-filter.ts';

const minute = 60_000;

/** Notes an observation every half minute; `usedAt` returns the time of the last use by the current time. */
function watchFor(
  minutes: number,
  usedAt: (now: number) => number | null,
  filter = createUseFilter(),
  from = 0,
) {
  const seen: boolean[] = [];
  for (let now = from; now <= from + minutes * minute; now += minute / 2)
    seen.push(filter.note(usedAt(now), now));
  return { seen, filter };
}

it('counts a machine as free when nobody has ever used it', () => {
  expect(watchFor(60, () => null).seen).not.toContain(true);
});

it('ignores a short glance', () => {
  expect(watchFor(60, now => Math.min(now, 0.5 * minute)).seen).not.toContain(true);
});

it('ignores glances that are far apart', () => {
  expect(watchFor(60, now => now - (now % (7 * minute))).seen).not.toContain(true);
});

it('counts use that lasts a minute', () => {
  expect(watchFor(2, now => now).seen).toEqual([false, false, true, true, true]);
});

it('stays in use during a break, and is free ten minutes after the last use', () => {
  const { seen } = watchFor(20, now => Math.min(now, 2 * minute));
  expect(seen.indexOf(false, 4)).toBe(2 * 12);
  expect(seen.slice(2 * 12)).not.toContain(true);
});

it('needs lasting use again after the machine was free', () => {
  const { filter } = watchFor(20, now => Math.min(now, 2 * minute));
  expect(filter.note(21 * minute, 21 * minute)).toBe(false);
  expect(filter.note(22 * minute, 22 * minute)).toBe(true);
});

it('ignores a time of use that lies in the future', () => {
  const { seen } = watchFor(2, now => now + 60 * minute);
  expect(seen).toEqual([false, false, true, true, true]);
});
