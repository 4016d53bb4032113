import { expect, it, onTestFinished } from 'vitest';
import { type AvailabilityDeps, createAvailability } from '../../../../agent/availability/availability.ts';
import type { Hours, Zone } from '../../../../agent/availability/hours.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const utc: Zone = {
  dayOf(at) {
    const date = new Date(at);
    return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() };
  },
  at: ({ year, month, day }, minutes) => Date.UTC(year, month, day, 0, minutes),
};
const minute = 60_000;

/** Creates a rig on 2026-01-01 at noon, and records each change of its availability. */
function watchRig(overrides: Partial<Pick<AvailabilityDeps, 'hours' | 'use'>>) {
  const clock = createVirtualClock();
  const availability = createAvailability({
    hours: null,
    use: null,
    clock,
    wall: clock.wall,
    zone: utc,
    ...overrides,
  });
  const ended = new AbortController();
  const changes: (string | null)[] = [];
  void availability.watch(() => changes.push(availability.closed()?.reason ?? null), ended.signal);
  onTestFinished(() => ended.abort());
  return { clock, availability, changes };
}

/** The hours from 13:00 to 14:00 on each day. */
const hours: Hours = [{ days: [0, 1, 2, 3, 4, 5, 6], from: 13 * 60, until: 14 * 60 }];

it('makes the rig unavailable outside of its hours, and reports when the hours begin', async () => {
  const { clock, availability, changes } = watchRig({ hours });
  expect(availability.closed()).toEqual({
    reason: 'hours',
    detail: 'The rig takes jobs at 13:00-14:00 only',
    opens_at: '2026-01-01T13:00:00.000Z',
  });
  await clock.advance(60 * minute);
  expect(changes).toEqual([null]);
  await clock.advance(60 * minute);
  expect(changes).toEqual([null, 'hours']);
  expect(availability.closed()?.opens_at).toBe('2026-01-02T13:00:00.000Z');
});

it('notices within a minute that the wall clock was set', async () => {
  const { clock, changes } = watchRig({ hours });
  await clock.settle();
  clock.shiftWall(70 * minute);
  await clock.advance(minute);
  expect(changes).toEqual([null]);
});

it('makes the rig unavailable while its keyboard is used, until ten minutes after the last input', async () => {
  let isUsed = false;
  let lastAt: number | null = null;
  const rig = watchRig({
    use: {
      lastInput: async () => {
        if (isUsed) lastAt = rig.clock.wall();
        return lastAt;
      },
      gpuTroubles: () => [],
    },
  });
  const { clock, availability, changes } = rig;
  await clock.advance(30 * minute);
  expect(changes).toEqual([]);
  isUsed = true;
  await clock.advance(2 * minute);
  expect(availability.closed()).toEqual({
    reason: 'in_use',
    detail: 'Somebody uses the keyboard or the mouse',
    opens_at: null,
  });
  isUsed = false;
  await clock.advance(9 * minute);
  expect(changes).toEqual(['in_use']);
  await clock.advance(2 * minute);
  expect(changes).toEqual(['in_use', null]);
});

it('makes the rig unavailable while a program other than a leftover of its own jobs holds a GPU', async () => {
  const held = { gpu: 1, kind: 'held', detail: 'process 7 (blender) holds its memory' } as const;
  let troubles: readonly (typeof held & { readonly ours?: true })[] = [{ ...held, ours: true }];
  const { clock, availability } = watchRig({ use: { lastInput: null, gpuTroubles: () => troubles } });
  await clock.advance(5 * minute);
  expect(availability.closed()).toBeNull();
  troubles = [held];
  await clock.advance(2 * minute);
  expect(availability.closed()).toMatchObject({ reason: 'in_use', detail: 'Another program uses GPU 1' });
});

it('keeps the rig available when the detection of input fails', async () => {
  const { clock, changes } = watchRig({
    use: { lastInput: () => Promise.reject(new Error('no bus')), gpuTroubles: () => [] },
  });
  await clock.advance(5 * minute);
  expect(changes).toEqual([]);
});
