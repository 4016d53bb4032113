import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  backoffAfter,
  countNeverJoined,
  isNeverJoined,
  isWithin,
  markImpossible,
  noticeMsOf,
} from '../../../../../main/orchestrator/rules/pool-rules.ts';
import { Hours } from '../../../../../protocol/pool.ts';
import { NOW } from '../builders.ts';
import { makeLaunch, makePool } from '../pool-builders.ts';

describe('the backoff after a temporary refusal', () => {
  // Refuses `count` orders, each at the end of the last backoff. Returns the durations of the backoffs.
  const backoffDurations = (share: number, count: number): readonly number[] => {
    let pool = makePool();
    let now = NOW;
    return Array.from({ length: count }, () => {
      const backoff = backoffAfter(pool, now, share);
      const durationMs = (backoff?.until ?? 0) - now;
      pool = { ...pool, backoff };
      now += durationMs;
      return durationMs;
    });
  };

  test('doubles the backoff from 30 s to 30 min', () => {
    expect(backoffDurations(1, 8)).toEqual(
      [30, 60, 120, 240, 480, 960, 1_800, 1_800].map(seconds => seconds * 1_000),
    );
    expect(backoffDurations(0, 2)).toEqual([15_000, 30_000]);
  });

  test('waits between half and all of the backoff, after any number of refusals', () => {
    const refusals = fc.nat({ max: 5_000 });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), refusals, (share, before) => {
        const pool = makePool({}, { backoff: { refusals: before, until: 0 } });
        const durationMs = (backoffAfter(pool, NOW, share)?.until ?? 0) - NOW;
        expect(durationMs).toBeGreaterThanOrEqual(15_000);
        expect(durationMs).toBeLessThanOrEqual(1_800_000);
      }),
    );
  });

  test('counts refusals that arrive during the backoff as one refusal', () => {
    const first = makePool({}, { backoff: backoffAfter(makePool(), NOW, 1) });
    expect(backoffAfter(first, NOW + 5, 1)).toBe(first.backoff);
    expect(backoffAfter(first, NOW + 30_000, 1)).toEqual({ refusals: 2, until: NOW + 90_000 });
  });
});

describe('a launch that never joined', () => {
  const ended = makeLaunch({ state: 'ended', startedAt: 5, outcome: 'never_joined', endedAt: 9 });

  test.each([
    ['ended as never_joined', true, ended],
    ['failed', true, { ...ended, outcome: 'failed' as const }],
    ['timed out', true, { ...ended, outcome: 'timeout' as const }],
    ['was not needed', false, { ...ended, outcome: 'not_needed' as const }],
    ['was preempted', false, { ...ended, outcome: 'preempted' as const }],
    ['ended after its worker joined', false, { ...ended, joinedAt: 7 }],
    ['ended before its machine started', false, { ...ended, startedAt: null }],
    ['is running', false, { ...ended, state: 'running' as const }],
  ])('decides whether a launch that %s counts as never joined: %s', (_case, expected, launch) => {
    expect(isNeverJoined(launch)).toBe(expected);
  });

  test('pauses the pool with a reason after the third launch in a row that never joined', () => {
    const once = countNeverJoined(makePool(), ended, NOW);
    const twice = countNeverJoined(once, ended, NOW);
    expect([once, twice]).toMatchObject([
      { neverJoined: 1, pause: null },
      { neverJoined: 2, pause: null },
    ]);
    const third = countNeverJoined(twice, { ...ended, detail: 'Its worker has not registered' }, NOW);
    expect(third.pause).toEqual({
      by: 'system',
      since: NOW,
      reason:
        '3 machines in a row started, and none of their workers registered; the last one: Its worker has not registered. ' +
        'Run "trainyard pools test gpu" to see why, then resume the pool',
    });
    expect(countNeverJoined(twice, ended, NOW).pause?.reason).toContain('registered. Run');
    const fourth = countNeverJoined(third, ended, NOW + 1);
    expect(fourth).toEqual({ ...third, neverJoined: 4 });
  });
});

test('stores the newest refusal of each kind of machine', () => {
  const once = markImpossible(makePool(), makeLaunch(), 'no GPUs', 1);
  const twice = markImpossible(once, makeLaunch({ gpus: 2 }), 'too many', 2);
  const thrice = markImpossible(twice, makeLaunch({ nodes: 2 }), 'too many machines', 3);
  expect(markImpossible(thrice, makeLaunch(), 'still none', 4).impossible).toEqual([
    { nodes: 1, gpus: 2, message: 'too many', since: 2 },
    { nodes: 2, gpus: 1, message: 'too many machines', since: 3 },
    { nodes: 1, gpus: 1, message: 'still none', since: 4 },
  ]);
});

test('uses a notice of 120 s unless the pool sets another notice', () => {
  expect(noticeMsOf(makePool())).toBe(120_000);
  expect(noticeMsOf(makePool({ notice_s: 30 }))).toBe(30_000);
});

describe('hours', () => {
  const makeHours = (from: string, to: string, options: object = {}) => Hours.parse({ from, to, ...options });

  test.each([
    ['2026-01-07T08:59:59Z', false],
    ['2026-01-07T09:00:00Z', true],
    ['2026-01-07T16:59:59Z', true],
    ['2026-01-07T17:00:00Z', false],
  ])('includes the start of the hours and excludes their end (%s)', (time, expected) => {
    expect(isWithin(makeHours('09:00', '17:00'), Date.parse(time))).toBe(expected);
  });

  test.each([
    ['2026-01-07T21:59:00Z', false],
    ['2026-01-07T22:00:00Z', true],
    ['2026-01-08T00:00:00Z', true],
    ['2026-01-08T05:59:00Z', true],
    ['2026-01-08T06:00:00Z', false],
  ])('extends hours over midnight until the next morning (%s)', (time, expected) => {
    expect(isWithin(makeHours('22:00', '06:00'), Date.parse(time))).toBe(expected);
  });

  // 2026-01-07 is a Wednesday.
  test.each([
    ['2026-01-06T23:00:00Z', false],
    ['2026-01-07T05:00:00Z', false],
    ['2026-01-07T23:00:00Z', true],
    ['2026-01-08T05:00:00Z', true],
    ['2026-01-08T23:00:00Z', false],
  ])('assigns hours over midnight to the day on which they begin (%s)', (time, expected) => {
    expect(isWithin(makeHours('22:00', '06:00', { days: ['wed'] }), Date.parse(time))).toBe(expected);
  });

  test('extends hours of a night into the next day, and limits hours of one day to that day', () => {
    const night = makeHours('22:00', '06:00', { days: ['sat'] });
    expect(isWithin(night, Date.parse('2026-01-11T05:00:00Z'))).toBe(true);
    expect(isWithin(makeHours('22:00', '06:00', { days: ['sun'] }), Date.parse('2026-01-12T05:00:00Z'))).toBe(
      true,
    );
    const day = makeHours('09:00', '17:00', { days: ['mon'] });
    expect(
      [Date.parse('2026-01-11T12:00:00Z'), Date.parse('2026-01-12T12:00:00Z')].map(time =>
        isWithin(day, time),
      ),
    ).toEqual([false, true]);
  });

  test('follows the clock of the time zone, also at the change to summer time', () => {
    const berlin = makeHours('09:00', '17:00', { time_zone: 'Europe/Berlin' });
    expect(isWithin(berlin, Date.parse('2026-01-07T08:00:00Z'))).toBe(true);
    expect(isWithin(berlin, Date.parse('2026-01-07T16:00:00Z'))).toBe(false);
    // Summer time begins on 2026-03-29.
    expect(isWithin(berlin, Date.parse('2026-03-30T07:00:00Z'))).toBe(true);
    const tokyo = makeHours('22:00', '02:00', { time_zone: 'Asia/Tokyo', days: ['thu'] });
    expect(isWithin(tokyo, Date.parse('2026-01-08T14:00:00Z'))).toBe(true);
    expect(isWithin(tokyo, Date.parse('2026-01-07T14:00:00Z'))).toBe(false);
  });

  test('covers each minute of the week once, together with the complementary hours', () => {
    const minute = fc.integer({ min: 0, max: 1_439 });
    const toTime = (minutes: number): string =>
      `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
    fc.assert(
      fc.property(minute, minute, fc.integer({ min: 0, max: 10_079 }), (from, to, offset) => {
        fc.pre(from !== to);
        const time = Date.parse('2026-01-05T00:00:00Z') + offset * 60_000;
        const isInside = isWithin(makeHours(toTime(from), toTime(to)), time);
        expect(isWithin(makeHours(toTime(to), toTime(from)), time)).toBe(!isInside);
      }),
    );
  });
});
