import { expect, it } from 'vitest';
import { createUseFilter } from '../../../../agent/availability/use-filter.ts';

const minute = 60_000;

/** Reports the time of the last use to the filter every 30 s. `lastUse` computes this time from the current time. */
function watchFor(
  minutes: number,
  lastUse: (now: number) => number | null,
  filter = createUseFilter(),
  from = 0,
) {
  /** The answer of the filter to each report: true when the machine is in use. */
  const inUse: boolean[] = [];
  for (let now = from; now <= from + minutes * minute; now += minute / 2)
    inUse.push(filter.note(lastUse(now), now));
  return { inUse, filter };
}

it('treats a machine that nobody has used as free', () => {
  expect(watchFor(60, () => null).inUse).not.toContain(true);
});

it('ignores use that lasts less than a minute', () => {
  expect(watchFor(60, now => Math.min(now, 0.5 * minute)).inUse).not.toContain(true);
});

it('ignores short uses that are far apart', () => {
  // The last use is always at a multiple of 7 minutes.
  expect(watchFor(60, now => now - (now % (7 * minute))).inUse).not.toContain(true);
});

it('treats a machine as in use after a minute of use', () => {
  expect(watchFor(2, now => now).inUse).toEqual([false, false, true, true, true]);
});

it('treats a machine as in use until ten minutes after the last use', () => {
  const { inUse } = watchFor(20, now => Math.min(now, 2 * minute));
  // There are two reports a minute. The use ended after 2 minutes, so the machine is free after 12.
  const reportsUntilFree = 2 * 12;
  expect(inUse.indexOf(false, 4)).toBe(reportsUntilFree);
  expect(inUse.slice(reportsUntilFree)).not.toContain(true);
});

it('requires another minute of use after the machine was free', () => {
  const { filter } = watchFor(20, now => Math.min(now, 2 * minute));
  expect(filter.note(21 * minute, 21 * minute)).toBe(false);
  expect(filter.note(22 * minute, 22 * minute)).toBe(true);
});

it('treats a last use in the future as a use now', () => {
  const { inUse } = watchFor(2, now => now + 60 * minute);
  expect(inUse).toEqual([false, false, true, true, true]);
});
