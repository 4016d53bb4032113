/** The visible range of time, its zoom levels, and its ticks. All times are in milliseconds since 1970. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The zoom levels, with the length of the range that each shows. */
export const zooms = {
  hour: hourMs,
  hours: 6 * hourMs,
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs,
} as const;
export type Zoom = keyof typeof zooms;
export const zoomNames = ['hour', 'hours', 'day', 'week', 'month'] as const satisfies readonly Zoom[];

export const isZoom = (name: string | null): name is Zoom => name !== null && Object.hasOwn(zooms, name);

/** Share of the visible range that lies in the future, so that predicted starts are visible. */
const futureShare = 0.25;

export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** A range of time, and the width of its drawing in pixels. */
export interface Scale extends TimeWindow {
  readonly width: number;
}

const spanOf = ({ from, to }: TimeWindow): number => to - from;

/** Returns a range of length `spanMs` that contains `now` and a part of the future. */
export const windowAround = (now: number, spanMs: number): TimeWindow => ({
  from: now - spanMs * (1 - futureShare),
  to: now + spanMs * futureShare,
});

export const timeToX = ({ from, to, width }: Scale, at: number): number =>
  ((at - from) / (to - from)) * width;

export const xToTime = ({ from, to, width }: Scale, x: number): number => from + (x / width) * (to - from);

export const pan = ({ from, to }: TimeWindow, byMs: number): TimeWindow => ({
  from: from + byMs,
  to: to + byMs,
});

/** Changes the length of the range to `spanMs`, within the limits of the zoom levels. The time `anchor` does not move. */
export function zoomTo(view: TimeWindow, spanMs: number, anchor: number): TimeWindow {
  const span = Math.min(zooms.month, Math.max(zooms.hour, spanMs));
  const from = anchor - ((anchor - view.from) / spanOf(view)) * span;
  return { from, to: from + span };
}

/** Returns the zoom level closest to this range, for the buttons. */
export function nearestZoom(view: TimeWindow): Zoom {
  // Compare by ratio, so that half and twice the range have the same distance.
  const distance = (name: Zoom): number => Math.abs(Math.log(zooms[name] / spanOf(view)));
  return zoomNames.reduce((best, name) => (distance(name) < distance(best) ? name : best));
}

/** Returns the next zoom level: 1 is the direction of shorter ranges, -1 of longer ranges. */
export function nextZoom(view: TimeWindow, direction: 1 | -1): Zoom {
  const index = zoomNames.indexOf(nearestZoom(view)) - direction;
  return zoomNames[Math.min(zoomNames.length - 1, Math.max(0, index))] ?? 'day';
}

/**
 * Moves the range so that the span between these times is visible, or at least the start of the span. Returns the same
 * range if a part of the span is already visible.
 */
export function reveal(view: TimeWindow, from: number, to: number): TimeWindow {
  const margin = spanOf(view) / 10;
  if (from < view.to - margin && to > view.from + margin) return view;
  return pan(view, from - margin - view.from);
}

/**
 * Returns the range to read for a view. The range is at least half a view longer on each side. It changes in steps of
 * half a view, so that most moves need no new read.
 */
export function readRange(view: TimeWindow): TimeWindow {
  const step = spanOf(view) / 2;
  return {
    from: Math.floor(view.from / step - 1) * step,
    to: Math.ceil(view.to / step + 1) * step,
  };
}

export interface Tick {
  readonly at: number;
  /** `day`: the tick is at the start of a day. */
  readonly kind: 'time' | 'day';
}

const minTickPx = 72;
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720].map(minutes => minutes * minuteMs);
const daySteps = [1, 2, 7, 14];

/** Calendar arithmetic in one time zone. */
export interface Days {
  /** Returns the start of the day that contains `at`, plus a number of days. */
  start(at: number, plusDays?: number): number;
  /** Returns the number of the day that contains `at`. January 1, 1970 is 0. */
  index(at: number): number;
}

export const localDays: Days = {
  start(at, plusDays = 0) {
    const date = new Date(at);
    return new Date(date.getFullYear(), date.getMonth(), date.getDate() + plusDays).getTime();
  },
  index: at => Math.floor((at - new Date(at).getTimezoneOffset() * minuteMs) / dayMs),
};

export const utcDays: Days = {
  start: (at, plusDays = 0) => (Math.floor(at / dayMs) + plusDays) * dayMs,
  index: at => Math.floor(at / dayMs),
};

/** Returns the ticks within the scale, at round times of the user's time zone. */
export function ticksOf(scale: Scale, days: Days): readonly Tick[] {
  const minMs = (minTickPx / scale.width) * spanOf(scale);
  const stepMs = timeSteps.find(step => step >= minMs) ?? null;
  const everyDays = daySteps.find(count => count * dayMs >= minMs) ?? 28;
  const ticks: Tick[] = [];
  for (let day = days.start(scale.from); day < scale.to; day = days.start(day, 1)) {
    // Day 4 was a Monday, so weekly ticks are on Mondays.
    const isShown = stepMs !== null || (days.index(day) - 4) % everyDays === 0;
    if (isShown) ticks.push({ at: day, kind: 'day' });
    if (stepMs === null) continue;
    const end = days.start(day, 1);
    for (let at = day + stepMs; at < end; at += stepMs) ticks.push({ at, kind: 'time' });
  }
  return ticks.filter(({ at }) => at >= scale.from && at < scale.to);
}
