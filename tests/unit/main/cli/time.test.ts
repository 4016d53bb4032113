import { InvalidArgumentError } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { moment, timeText } from '../../../../main/cli/time.ts';

describe('moment', () => {
  it.each([
    ['2026-01-31', '2026-01-31'],
    ['2026-01-31T12:00:00', '2026-01-31T12:00:00'],
    ['2026-01-31T12:00:00.5+02:00', '2026-01-31T12:00:00.5+02:00'],
    ['90s', '2026-03-01T09:58:30.000Z'],
    ['30m', '2026-03-01T09:30:00.000Z'],
    ['2h', '2026-03-01T08:00:00.000Z'],
    ['1.5d', '2026-02-27T22:00:00.000Z'],
    ['1w', '2026-02-22T10:00:00.000Z'],
    ['today', '2026-03-01'],
    ['yesterday', '2026-02-28'],
  ])('reads the time %s as %s', (text, expected) => {
    vi.useFakeTimers({ now: Date.parse('2026-03-01T10:00:00Z') });
    onTestFinished(() => void vi.useRealTimers());
    expect(moment(text)).toBe(expected);
  });

  it.each(['', 'soon', '2026', '2026-13-01', '2026-01-31T25:00:00Z', '31.01.2026', '2 h', '999999w', '-1d'])(
    'rejects the time %j',
    text => {
      expect(() => moment(text)).toThrow(InvalidArgumentError);
    },
  );
});

describe('timeText', () => {
  it.each([
    ['2026-03-01T09:59:30.000Z', 'just now'],
    ['2026-03-01T09:57:00.000Z', '3 min ago'],
    ['2026-03-01T05:01:00.000Z', '4 h ago'],
  ])('shows the time %s as "%s" in a terminal, and unchanged in a pipe', (time, text) => {
    vi.useFakeTimers({ now: Date.parse('2026-03-01T10:00:00Z') });
    onTestFinished(() => void vi.useRealTimers());
    expect(timeText(time, true)).toBe(text);
    expect(timeText(time, false)).toBe(time);
  });

  it('shows old and future times as a local date and time', () => {
    expect(timeText('2020-02-01T10:00:00Z', true)).toMatch(/^2020-02-0[12] \d{2}:\d{2}$/);
    expect(timeText('2999-02-01T10:00:00Z', true)).toMatch(/^2999-02-0[12] \d{2}:\d{2}$/);
  });
});
