import { fail, type Loaded } from '../files/failure-text.ts';

/** A weekly period in which a rig accepts jobs, in the rig's own time zone. */
export interface Window {
  /** Days on which the window starts: 0 is Sunday. */
  readonly days: readonly number[];
  /** Minutes after midnight. */
  readonly from: number;
  /** Minutes after the same midnight as `from`: more than 1,440 for a window that ends on the next day. */
  readonly until: number;
}

/** At least one window. Windows may overlap. */
export type Hours = readonly [Window, ...Window[]];

/** A calendar day in the rig's time zone. As with `Date`, day 32 of a month means a day of the next month. */
export interface Day {
  readonly year: number;
  /** 0 is January. */
  readonly month: number;
  readonly day: number;
}

/** The rig's time zone, as an interface so that tests can use any zone. */
export interface Zone {
  dayOf(at: number): Day;
  /**
   * Returns the time at this many minutes after midnight, in ms since the Unix epoch. For a time that daylight saving
   * skips, the offset before the change applies. For a time that daylight saving repeats, the first occurrence counts.
   */
  at(day: Day, minutes: number): number;
}

const localZone: Zone = {
  dayOf(at) {
    const date = new Date(at);
    return { year: date.getFullYear(), month: date.getMonth(), day: date.getDate() };
  },
  at: ({ year, month, day }, minutes) => new Date(year, month, day, 0, minutes).getTime(),
};

const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const dayMinutes = 24 * 60;

const advice = 'Use hours such as "20:00-08:00" or "mon-fri 20:00-08:00"';

/** Parses windows from repeated flags, or from a string or a list in the file. Null (always open) when none is given. */
export function parseHours(input: unknown): Loaded<Hours | null> {
  if (input === undefined || input === null) return { ok: true, value: null };
  const windows: Window[] = [];
  for (const text of Array.isArray(input) ? (input as readonly unknown[]) : [input]) {
    const window = typeof text === 'string' ? parseWindow(text) : fail(advice);
    if (!window.ok) return fail(`--hours ${JSON.stringify(text)} can't be used. ${window.message}`);
    windows.push(window.value);
  }
  const [first, ...others] = windows;
  return { ok: true, value: first === undefined ? null : [first, ...others] };
}

function parseWindow(text: string): Loaded<Window> {
  const [, days, ...numbers] =
    /^\s*(?:([a-z]{3}(?:[-,][a-z]{3})*)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s*$/i.exec(text) ?? [];
  const [fromHour = '', fromMinute = '', untilHour = '', untilMinute = ''] = numbers;
  if (numbers.length === 0) return fail(advice);
  const from = minutesOf(fromHour, fromMinute);
  const until = minutesOf(untilHour, untilMinute);
  if (from === null || from === dayMinutes || until === null)
    return fail(`Times go from 00:00 to 23:59, and an end may be 24:00. ${advice}`);
  if (from === until) return fail(`It starts and ends at the same time. For whole days, use 00:00-24:00`);
  const dayNumbers = days === undefined ? [0, 1, 2, 3, 4, 5, 6] : daysOf(days.toLowerCase());
  if (dayNumbers === null)
    return fail(`Days are ${dayNames.join(', ')}, alone, as "sat,sun" or as "mon-fri"`);
  return { ok: true, value: { days: dayNumbers, from, until: until < from ? until + dayMinutes : until } };
}

function minutesOf(hour: string, minute: string): number | null {
  const minutes = Number(hour) * 60 + Number(minute);
  return Number(minute) < 60 && minutes <= dayMinutes ? minutes : null;
}

/** Expands `mon-wed,sat` to day numbers. A range such as `sat-mon` may wrap around. Null when a name is unknown. */
function daysOf(text: string): readonly number[] | null {
  const days = new Set<number>();
  for (const part of text.split(',')) {
    const [first = -1, last = first, ...others] = part
      .split('-')
      .map(name => dayNames.findIndex(each => each === name));
    if (first < 0 || last < 0 || others.length > 0) return null;
    for (let day = first; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === last) break;
    }
  }
  return [...days].toSorted((a, b) => a - b);
}

/** Formats hours for people and logs. */
export const describeHours = (hours: Hours): string => hours.map(describeWindow).join(' and ');

function describeWindow({ days, from, until }: Window): string {
  const names = days.length === 7 ? '' : `${days.map(day => dayNames[day]).join(',')} `;
  return `${names}${clockTime(from)}-${clockTime(until > dayMinutes ? until - dayMinutes : until)}`;
}

const clockTime = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60].map(part => String(part).padStart(2, '0')).join(':');

export interface Opening {
  readonly isOpen: boolean;
  /** When `isOpen` changes, in ms since the Unix epoch; null for never. */
  readonly changesAt: number | null;
}

/** Windows are computed from yesterday until this many days after today, which covers more than a week. */
const daysAhead = 8;

/** Returns whether the rig is open at a time, and until when. Adjacent or overlapping windows count as one. */
export function openingAt(hours: Hours, at: number, zone: Zone = localZone): Opening {
  const spans = spansAround(hours, at, zone);
  let endsAt: number | null = null;
  for (const [from, until] of spans) {
    if (endsAt === null && from > at) return { isOpen: false, changesAt: from };
    if (endsAt !== null && from > endsAt) return { isOpen: true, changesAt: endsAt };
    if (until > at) endsAt = Math.max(endsAt ?? until, until);
  }
  // The spans have no gap for more than a week, so the rig never closes. Without any span, it never opens.
  return { isOpen: endsAt !== null, changesAt: null };
}

/** Returns the open spans from yesterday until a week from now, as pairs of times, in the order of their starts. */
function spansAround(hours: Hours, at: number, zone: Zone): readonly (readonly [number, number])[] {
  const today = zone.dayOf(at);
  const spans: (readonly [number, number])[] = [];
  for (let offset = -1; offset <= daysAhead; offset += 1) {
    const day = { ...today, day: today.day + offset };
    const weekday = new Date(Date.UTC(day.year, day.month, day.day)).getUTCDay();
    for (const { days, from, until } of hours)
      if (days.includes(weekday)) spans.push([zone.at(day, from), zone.at(day, until)]);
  }
  // A short window in an hour that daylight saving skips can end before it starts.
  return spans.filter(([from, until]) => until > from).toSorted(([a], [b]) => a - b);
}
