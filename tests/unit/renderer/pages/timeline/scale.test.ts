import { describe, expect, test } from 'vitest';
import {
  isZoom,
  localDays,
  nearestZoom,
  nextZoom,
  pan,
  readRange,
  reveal,
  ticksOf,
  timeToX,
  utcDays,
  windowAround,
  xToTime,
  zooms,
  zoomTo,
} from '../../../../../renderer/pages/timeline/scale.ts';

const noon = Date.UTC(2026, 2, 4, 12);
const day = windowAround(noon, zooms.day);
const toMinute = (time: number): string => new Date(time).toISOString().slice(0, 16);

describe('the visible range', () => {
  test('reserves a quarter of the width for the time after now', () => {
    expect(timeToX({ ...day, width: 400 }, noon)).toBe(300);
    expect(xToTime({ ...day, width: 400 }, 300)).toBe(noon);
  });

  test('moves the range by a time when panned, and keeps the given time in place when zoomed', () => {
    expect(pan({ from: 10, to: 20 }, -5)).toEqual({ from: 5, to: 15 });
    const zoomed = zoomTo(day, zooms.hours, noon);
    expect(zoomed.to - zoomed.from).toBe(zooms.hours);
    expect(timeToX({ ...zoomed, width: 400 }, noon)).toBeCloseTo(300);
  });

  test.each([
    [1, zooms.hour],
    [1e15, zooms.month],
  ])('limits a zoom to %d ms to a span of %d ms', (span, shownSpan) => {
    const zoomed = zoomTo(day, span, noon);
    expect(zoomed.to - zoomed.from).toBe(shownSpan);
  });

  test('steps through the zoom levels and stops at the first and last level', () => {
    expect(nearestZoom({ from: 0, to: zooms.day * 1.3 })).toBe('day');
    expect([nextZoom(day, 1), nextZoom(day, -1)]).toEqual(['hours', 'week']);
    expect(nextZoom({ from: 0, to: zooms.hour }, 1)).toBe('hour');
    expect(nextZoom({ from: 0, to: zooms.month }, -1)).toBe('month');
    expect(['week', 'year', 'toString', null].map(isZoom)).toEqual([true, false, false, false]);
  });

  test('moves the range only to show a bar that is outside the range', () => {
    const view = { from: 0, to: 100 };
    expect(reveal(view, 20, 30)).toBe(view);
    expect(reveal(view, -50, 500)).toBe(view);
    expect(reveal(view, 200, 300)).toEqual({ from: 190, to: 290 });
    expect(reveal(view, -200, -100)).toEqual({ from: -210, to: -110 });
  });

  test('loads a larger range than is visible, which a small move does not change', () => {
    const view = { from: 1_010, to: 1_110 };
    expect(readRange(view)).toEqual({ from: 950, to: 1_200 });
    expect(readRange(pan(view, 10))).toEqual(readRange(view));
    expect(readRange(pan(view, 60))).not.toEqual(readRange(view));
  });
});

describe('ticks', () => {
  const ticksFor = (span: number, width = 1_000) => ticksOf({ ...windowAround(noon, span), width }, utcDays);
  const times = (span: number, width?: number) => ticksFor(span, width).map(tick => toMinute(tick.at));

  test.each([
    ['hour', ['2026-03-04T11:15', '2026-03-04T11:20']],
    ['hours', ['2026-03-04T07:30', '2026-03-04T08:00']],
    ['day', ['2026-03-03T18:00', '2026-03-03T20:00']],
    ['week', ['2026-02-27T12:00', '2026-02-28T00:00']],
    ['month', ['2026-02-16T00:00', '2026-02-23T00:00']],
  ] as const)('places ticks at round times for the zoom level %s', (zoom, firstTicks) => {
    // At 1,000 pixels, the ticks of a week would be more than 12 hours apart.
    expect(times(zooms[zoom], zoom === 'week' ? 1_100 : undefined).slice(0, 2)).toEqual(firstTicks);
  });

  test('marks the start of a day', () => {
    expect(
      ticksFor(zooms.day)
        .filter(({ kind }) => kind === 'day')
        .map(tick => toMinute(tick.at)),
    ).toEqual(['2026-03-04T00:00']);
  });

  test.each(Object.keys(zooms))(
    'places ticks more than 70 pixels apart on a phone for the zoom level %s',
    zoom => {
      const span = isZoom(zoom) ? zooms[zoom] : 0;
      const scale = { ...windowAround(noon, span), width: 330 };
      const positions = ticksOf(scale, utcDays).map(tick => timeToX(scale, tick.at));
      expect(positions.length).toBeGreaterThan(1);
      for (const [index, position] of positions.slice(1).entries())
        expect(position - (positions[index] ?? 0)).toBeGreaterThan(70);
    },
  );

  test('begins days at midnight, in local time or in UTC', () => {
    const start = new Date(localDays.start(noon, 1));
    expect([start.getHours(), start.getMinutes()]).toEqual([0, 0]);
    expect(localDays.start(start.getTime())).toBe(start.getTime());
    expect(utcDays.start(noon, -1)).toBe(Date.UTC(2026, 2, 3));
    // The index of a day is its number since 1 January 1970.
    const tenthOfJune = new Date(2026, 5, 10).getTime();
    expect([localDays.index(tenthOfJune), localDays.index(tenthOfJune - 1)]).toEqual([20_614, 20_613]);
  });
});
