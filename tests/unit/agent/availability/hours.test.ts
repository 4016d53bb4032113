import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeHours, type Hours, openingAt, parseHours } from '../../../../agent/availability/hours.ts';

const toHours = (...texts: readonly string[]): Hours => {
  const parsed = parseHours(texts);
  if (!parsed.ok || parsed.value === null) throw new Error(parsed.ok ? 'no hours' : parsed.message);
  return parsed.value;
};
const toMessage = (value: unknown): string => {
  const parsed = parseHours(value);
  if (parsed.ok) throw new Error('the hours were accepted');
  return parsed.message;
};

let zone: string | undefined;
beforeEach(() => {
  zone = process.env['TZ'];
  process.env['TZ'] = 'Europe/Berlin';
});
afterEach(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

/** Converts a local time such as `2026-03-27 20:00` to ms since 1970. */
const fromLocal = (text: string): number => new Date(text.replace(' ', 'T')).getTime();
/** Converts ms since 1970 to a local time. Sweden's format is `2026-03-27 20:00:00`. */
const toLocal = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toLocaleString('sv-SE').slice(0, 16);
/** Returns whether the rig is open at this local time, and the local time at which that changes. */
const openingAtLocal = (hours: Hours, text: string) => {
  const { isOpen, changesAt } = openingAt(hours, fromLocal(text));
  return [isOpen, toLocal(changesAt)];
};

describe('parsing of hours', () => {
  it.each<[unknown, string]>([
    ['20:00-08:00', '20:00-08:00'],
    [' 8:30 - 9:05 ', '08:30-09:05'],
    [
      ['mon-fri 20:00-08:00', 'sat,sun 00:00-24:00'],
      'mon,tue,wed,thu,fri 20:00-08:00 and sun,sat 00:00-24:00',
    ],
    ['FRI-MON 18:00-24:00', 'sun,mon,fri,sat 18:00-24:00'],
    ['mon-sun 01:00-02:00', '01:00-02:00'],
    ['wed 22:00-00:00', 'wed 22:00-24:00'],
  ])('parses the hours %j as %j', (value, expected) => {
    const parsed = parseHours(value);
    expect(parsed.ok && parsed.value !== null && describeHours(parsed.value)).toBe(expected);
  });

  it('parses missing hours as null, which means at any time', () => {
    expect(parseHours(undefined)).toEqual({ ok: true, value: null });
    expect(parseHours([])).toEqual({ ok: true, value: null });
  });

  it.each<[unknown, string]>([
    ['', 'Use hours such as "20:00-08:00"'],
    ['20-08', 'Use hours such as "20:00-08:00"'],
    ['20:00', 'Use hours such as "20:00-08:00"'],
    ['25:00-08:00', 'Times go from 00:00 to 23:59'],
    ['20:60-08:00', 'Times go from 00:00 to 23:59'],
    ['24:00-08:00', 'Times go from 00:00 to 23:59'],
    ['20:00-24:01', 'Times go from 00:00 to 23:59'],
    ['08:00-08:00', 'starts and ends at the same time'],
    ['xyz 20:00-08:00', 'Days are sun, mon'],
    ['mon-tue-wed 20:00-08:00', 'Days are sun, mon'],
    [42, 'Use hours such as'],
  ])('rejects the hours %j, and names the flag and the reason', (value, expected) => {
    expect(toMessage(value)).toContain(expected);
    expect(toMessage(value)).toContain(`--hours ${JSON.stringify(value)} can't be used`);
  });
});

describe('openingAt', () => {
  const nights = toHours('20:00-08:00');

  it.each<[string, boolean, string]>([
    ['2026-05-06 19:59', false, '2026-05-06 20:00'],
    ['2026-05-06 20:00', true, '2026-05-07 08:00'],
    ['2026-05-07 00:00', true, '2026-05-07 08:00'],
    ['2026-05-07 07:59', true, '2026-05-07 08:00'],
    ['2026-05-07 08:00', false, '2026-05-07 20:00'],
    ['2026-12-31 23:00', true, '2027-01-01 08:00'],
  ])('handles a window across midnight: at %s isOpen is %s until %s', (text, isOpen, until) => {
    expect(openingAtLocal(nights, text)).toEqual([isOpen, until]);
  });

  it('assigns a window across midnight to the day on which it starts', () => {
    const weekdays = toHours('mon-fri 20:00-08:00');
    // 2026-05-08 is a Friday.
    expect(openingAtLocal(weekdays, '2026-05-08 21:00')).toEqual([true, '2026-05-09 08:00']);
    expect(openingAtLocal(weekdays, '2026-05-09 09:00')).toEqual([false, '2026-05-11 20:00']);
    expect(openingAtLocal(weekdays, '2026-05-11 07:00')).toEqual([false, '2026-05-11 20:00']);
  });

  it('joins windows that touch or overlap', () => {
    const weekend = toHours('mon-fri 20:00-08:00', 'sat,sun 00:00-24:00', 'sat 10:00-11:00');
    expect(openingAtLocal(weekend, '2026-05-08 21:00')).toEqual([true, '2026-05-11 00:00']);
  });

  it('finds a window that is a week away', () => {
    const mondays = toHours('mon 08:00-09:00');
    expect(openingAtLocal(mondays, '2026-05-04 09:00')).toEqual([false, '2026-05-11 08:00']);
    expect(openingAtLocal(mondays, '2026-05-04 08:30')).toEqual([true, '2026-05-04 09:00']);
  });

  it('returns no time of change when the windows cover the whole week', () => {
    expect(openingAtLocal(toHours('00:00-24:00'), '2026-05-04 09:00')).toEqual([true, null]);
    expect(openingAtLocal(toHours('00:00-12:00', '12:00-24:00'), '2026-05-04 12:00')).toEqual([true, null]);
  });
});

describe('openingAt around daylight saving changes', () => {
  // Clocks in Berlin go from 02:00 to 03:00 on 2026-03-29, and from 03:00 to 02:00 on 2026-10-25.
  it('opens and closes at the times of the wall clock', () => {
    const nights = toHours('20:00-08:00');
    const spring = openingAt(nights, fromLocal('2026-03-28 20:00'));
    const autumn = openingAt(nights, fromLocal('2026-10-24 20:00'));
    expect([toLocal(spring.changesAt), toLocal(autumn.changesAt)]).toEqual([
      '2026-03-29 08:00',
      '2026-10-25 08:00',
    ]);
    expect((spring.changesAt ?? 0) - fromLocal('2026-03-28 20:00')).toBe(11 * 3_600_000);
    expect((autumn.changesAt ?? 0) - fromLocal('2026-10-24 20:00')).toBe(13 * 3_600_000);
  });

  it('moves a start or an end in the skipped hour by one hour', () => {
    expect(openingAtLocal(toHours('01:00-02:30'), '2026-03-29 01:00')).toEqual([true, '2026-03-29 03:30']);
    expect(openingAtLocal(toHours('02:30-06:00'), '2026-03-29 01:00')).toEqual([false, '2026-03-29 03:30']);
  });

  it('ignores a window that would end before its start because of the skipped hour', () => {
    expect(openingAtLocal(toHours('02:50-03:10'), '2026-03-29 01:00')).toEqual([false, '2026-03-30 02:50']);
  });

  it('closes a window at its first end in the repeated hour, and does not reopen the window', () => {
    const early = toHours('01:00-02:30');
    const first = openingAt(early, fromLocal('2026-10-25 01:00'));
    expect(first.changesAt).toBe(Date.UTC(2026, 9, 25, 0, 30));
    expect(openingAt(early, Date.UTC(2026, 9, 25, 1, 15))).toMatchObject({ isOpen: false });
  });
});
