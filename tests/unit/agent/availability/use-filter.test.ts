import { expect, it } from 'vitest';
import { createUseFilter } from '../../../../agent/availability/use-filter.ts';

const minute = 60_000;

/**
 * Reports the last use to the filter every half minute. `usedAt` returns the time of that use, given the current time.
 */
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

it('treats a machine that nobody has used as free', () => {
  expect(watchFor(60, () => null).seen).not.toContain(true);
});

it('ignores use that lasts less than a minute', () => {
  expect(watchFor(60, now => Math.min(now, 0.5 * minute)).seen).not.toContain(true);
});

it('ignores short uses that are far apart', () => {
  expect(watchFor(60, now => now - (now % (7 * minute))).seen).not.toContain(true);
});

it('treats a machine as in use after a minute of use', () => {
  expect(watchFor(2, now => now).seen).toEqual([false, false, true, true, true]);
});

it('treats a machine as in use until ten minutes after the last use', () => {
  const { seen } = watchFor(20, now => Math.min(now, 2 * minute));
  expect(seen.indexOf(false, 4)).toBe(2 * 12);
  expect(seen.slice(2 * 12)).not.toContain(true);
});

it('requires another minute of use after the machine was free', () => {
  const { filter } = watchFor(20, now => Math.min(now, 2 * minute));
  expect(filter.note(21 * minute, 21 * minute)).toBe(false);
  expect(filter.note(22 * minute, 22 * minute)).toBe(true);
});

it('treats a last use in the future as a use now', () => {
  const { seen } = watchFor(2, now => now + 60 * minute);
  expect(seen).toEqual([false, false, true, true, true]);
});
