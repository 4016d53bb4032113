import type { MetricPoint } from '../protocol/metrics-api.ts';

/** A point before it has its number. */
export type BarePoint = Omit<MetricPoint, 'n'>;

/** A list that never grows beyond its bound: it is thinned out evenly, so that the newest count as much as the oldest. */
export interface PointList {
  add(point: BarePoint): void;
  /** Takes the first `count` of them away. */
  drop(count: number): void;
  /** The first `count` of them stay as they are, whatever is thinned out: they are on their way. */
  hold(count: number): void;
  /** Puts another point in the place of each that is not held; null takes it away. */
  change(to: (point: BarePoint) => BarePoint | null): void;
  items(): readonly BarePoint[];
}

/** What two points come to as one: at the later place, and a value that is no number stays to be seen. */
function join(a: BarePoint, b: BarePoint): BarePoint {
  const values = { ...a.values, ...b.values };
  for (const [key, value] of Object.entries(a.values)) if (value === null) values[key] = null;
  return { ...a, ...b, step: b.step ?? a.step, epoch: b.epoch ?? a.epoch, values };
}

export function createPointList(most: number): PointList {
  let items: BarePoint[] = [];
  let held = 0;
  /** So many of those that come are one. */
  let stride = 1;
  /** How many the last one is already. */
  let inLast = 0;

  const thinOut = (): void => {
    const free = items.slice(held);
    const pairs = Array.from({ length: Math.ceil(free.length / 2) }, (_, at) =>
      free.slice(at * 2, at * 2 + 2).reduce(join),
    );
    items = [...items.slice(0, held), ...pairs];
    inLast = free.length % 2 === 0 ? stride + 1 : 1;
    stride *= 2;
  };

  return {
    add(point) {
      const last = items.at(-1);
      if (last !== undefined && items.length > held && inLast < stride) {
        items[items.length - 1] = join(last, point);
        inLast += 1;
        return;
      }
      items.push(point);
      inLast = 1;
      if (items.length > most) thinOut();
    },
    drop(count) {
      items = items.slice(count);
      held = Math.max(0, held - count);
      if (items.length === 0) stride = 1;
    },
    hold(count) {
      held = Math.min(count, items.length);
    },
    change(to) {
      items = [...items.slice(0, held), ...items.slice(held).flatMap(point => to(point) ?? [])];
    },
    items: () => items,
  };
}
