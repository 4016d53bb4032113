import { type Bar, shownEnd } from './bars.ts';

/** A worker that has a row. */
export interface RowWorker {
  readonly id: string;
  /** Null if the name is unknown. */
  readonly name: string | null;
  readonly isDeleted: boolean;
}

/** A bar with its position. `top` is in pixels from the start of all rows. */
export interface PlacedBar {
  readonly bar: Bar;
  /** The drawn end of the bar, in ms since 1970. */
  readonly end: number;
  /** The start of the next bar in the same lane, in ms since 1970; infinite for the last bar of the lane. */
  readonly freeUntil: number;
  readonly row: number;
  readonly top: number;
}

export interface Row extends RowWorker {
  readonly top: number;
  readonly height: number;
  /** The bars of the row, sorted by their start. */
  readonly bars: readonly PlacedBar[];
}

/** A connection between two attempts of a job. */
export interface Move {
  readonly from: PlacedBar;
  readonly to: PlacedBar;
}

export interface Layout {
  readonly rows: readonly Row[];
  /** All bars, sorted by row and then by start. Arrow keys move through the bars in this order. */
  readonly bars: readonly PlacedBar[];
  readonly moves: readonly Move[];
  readonly height: number;
}

/** Sizes in pixels. A row consists of lanes, and each lane is a line of bars that do not overlap. */
export const barHeight = 20;
const laneGap = 3;
const rowPadding = 5;
/** Height of a name above the bars of its row, in pixels. */
const nameHeight = 22;

interface LayoutInput {
  /** The workers in the order of their rows. Bars of other workers are omitted. */
  readonly workers: readonly RowWorker[];
  /** All bars, sorted by their start. */
  readonly bars: readonly Bar[];
  readonly now: number;
  /** True if names are above the bars of their rows, as on a phone. */
  readonly hasNamesAbove: boolean;
}

/** Arranges bars in one row per worker. Overlapping bars of a worker are in separate lanes. */
export function createLayout({ workers, bars, now, hasNamesAbove }: LayoutInput): Layout {
  const ofWorker = Map.groupBy(bars, ({ workerId }): string => workerId);
  const start = hasNamesAbove ? nameHeight : rowPadding;
  const rows: Row[] = [];
  let top = 0;
  for (const worker of workers) {
    const { lanes, placed } = intoLanes(ofWorker.get(worker.id) ?? [], now);
    const height = start + lanes * (barHeight + laneGap) - laneGap + rowPadding;
    const rowTop = top;
    const row = rows.length;
    rows.push({
      ...worker,
      top,
      height,
      bars: placed.map(({ bar, end, lane, freeUntil }) => ({
        bar,
        end,
        freeUntil,
        row,
        top: rowTop + start + lane * (barHeight + laneGap),
      })),
    });
    top += height;
  }
  const all = rows.flatMap(row => row.bars);
  return { rows, bars: all, moves: movesBetween(all), height: top };
}

/** Puts each bar into the first lane that is free at the start of the bar. An empty row has one lane. */
function intoLanes(bars: readonly Bar[], now: number) {
  const ends: number[] = [];
  const placed = bars.map(bar => {
    const end = shownEnd(bar, now);
    const free = ends.findIndex(taken => taken <= bar.from);
    const lane = free === -1 ? ends.length : free;
    ends[lane] = Math.max(end, bar.from);
    return { bar, end, lane };
  });
  return { lanes: Math.max(1, ends.length), placed: withFreeUntil(placed) };
}

/** Adds to each bar the start of the next bar in its lane. The bars are sorted by their start. */
function withFreeUntil<B extends { readonly bar: Bar; readonly lane: number }>(placed: readonly B[]) {
  const nextStarts = new Map<number, number>();
  return placed
    .toReversed()
    .map(each => {
      const freeUntil = nextStarts.get(each.lane) ?? Number.POSITIVE_INFINITY;
      nextStarts.set(each.lane, each.bar.from);
      return { ...each, freeUntil };
    })
    .toReversed();
}

/** Connects each attempt of a job to the job's next attempt. */
function movesBetween(bars: readonly PlacedBar[]): readonly Move[] {
  const ofJob = Map.groupBy(
    bars.filter(({ bar }) => bar.isFirst),
    ({ bar }) => bar.jobId,
  );
  return [...ofJob.values()].flatMap(placed => {
    const inOrder = placed.toSorted((a, b) => orderOf(a) - orderOf(b));
    return inOrder.slice(1).flatMap((to, index) => {
      const from = inOrder[index];
      return from === undefined ? [] : [{ from, to }];
    });
  });
}

/** Sorts predictions after all attempts. */
const orderOf = ({ bar }: PlacedBar): number => bar.attempt ?? Number.POSITIVE_INFINITY;

/** Merges the workers of the fleet with workers that only the response contains, such as deleted workers. */
export function workersToShow(
  known: readonly RowWorker[],
  named: readonly RowWorker[],
): readonly RowWorker[] {
  const ids = new Set(known.map(({ id }) => id));
  const nameOf = ({ id, name }: RowWorker): string => name ?? id;
  return [...known, ...named.filter(({ id }) => !ids.has(id))].toSorted(
    (a, b) =>
      Number(a.isDeleted) - Number(b.isDeleted) ||
      nameOf(a).localeCompare(nameOf(b), 'en', { numeric: true }),
  );
}

/** Returns the rows between two heights. */
export const rowsWithin = (rows: readonly Row[], top: number, bottom: number): readonly Row[] =>
  rows.filter(row => row.top < bottom && row.top + row.height > top);

/** Returns the newest bar at a point. `y` is in pixels, `at` is a time, and `toleranceMs` is the duration of a few pixels. */
export function barAt({ rows }: Layout, y: number, at: number, toleranceMs: number): PlacedBar | null {
  const row = rows.find(({ top, height }) => y >= top && y < top + height);
  return (
    row?.bars.findLast(
      ({ bar, end, top }) =>
        y >= top && y < top + barHeight && at >= bar.from - toleranceMs && at <= end + toleranceMs,
    ) ?? null
  );
}

type Direction = 'next' | 'previous' | 'up' | 'down';

/** Returns the next bar in a direction. Up and down lead to the nearest bar in the closest row that has bars. */
export function neighbour(layout: Layout, from: PlacedBar, direction: Direction): PlacedBar | null {
  if (direction === 'next' || direction === 'previous') {
    const at = layout.bars.findIndex(({ bar }) => bar.key === from.bar.key);
    return layout.bars[at + (direction === 'next' ? 1 : -1)] ?? null;
  }
  const rows =
    direction === 'down' ? layout.rows.slice(from.row + 1) : layout.rows.slice(0, from.row).toReversed();
  const row = rows.find(({ bars }) => bars.length > 0);
  const distance = ({ bar }: PlacedBar): number => Math.abs(bar.from - from.bar.from);
  return row?.bars.toSorted((a, b) => distance(a) - distance(b))[0] ?? null;
}
