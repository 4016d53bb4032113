import type { MetricPoint } from '../../protocol/metrics-api.ts';

/** A point without its number. */
export type BarePoint = Omit<MetricPoint, 'n'>;

/** A list with a maximum length. When it is full, it merges points evenly, so that new points count as much as old ones. */
export interface PointList {
  add(point: BarePoint): void;
  /** Removes the first `count` points. */
  drop(count: number): void;
  /** Keeps the first `count` points unchanged, because they are being sent. */
  freeze(count: number): void;
  /** Replaces each point that is not frozen; null removes it. */
  change(to: (point: BarePoint) => BarePoint | null): void;
  items(): readonly BarePoint[];
}

/** Merges two points at the position of the later point. A null (not a number) in either point stays. */
function merge(a: BarePoint, b: BarePoint): BarePoint {
  const values = { ...a.values, ...b.values };
  for (const [key, value] of Object.entries(a.values)) if (value === null) values[key] = null;
  return { ...a, ...b, step: b.step ?? a.step, epoch: b.epoch ?? a.epoch, values };
}

export function createPointList(maxPoints: number): PointList {
  let items: BarePoint[] = [];
  let frozen = 0;
  /** Number of added points that become one point in the list. */
  let stride = 1;
  /** Number of added points that the last point of the list contains so far. */
  let inLast = 0;

  const thinOut = (): void => {
    const free = items.slice(frozen);
    const pairs = Array.from({ length: Math.ceil(free.length / 2) }, (_, at) =>
      free.slice(at * 2, at * 2 + 2).reduce(merge),
    );
    items = [...items.slice(0, frozen), ...pairs];
    inLast = free.length % 2 === 0 ? stride + 1 : 1;
    stride *= 2;
  };

  return {
    add(point) {
      const last = items.at(-1);
      if (last !== undefined && items.length > frozen && inLast < stride) {
        items[items.length - 1] = merge(last, point);
        inLast += 1;
        return;
      }
      items.push(point);
      inLast = 1;
      if (items.length > maxPoints) thinOut();
    },
    drop(count) {
      items = items.slice(count);
      frozen = Math.max(0, frozen - count);
      if (items.length === 0) stride = 1;
    },
    freeze(count) {
      frozen = Math.min(count, items.length);
    },
    change(to) {
      items = [...items.slice(0, frozen), ...items.slice(frozen).flatMap(point => to(point) ?? [])];
    },
    items: () => items,
  };
}
