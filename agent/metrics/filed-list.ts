import { createPrecedence, only, type Precedence } from './file-points.ts';
import { type BarePoint, createPointList, type PointList } from './point-list.ts';

/** Points from metrics files; see `FileFigures`. */
export interface Recorded {
  readonly live: readonly BarePoint[];
  readonly late: readonly BarePoint[];
}

/** The unsent points from files, and their effect on printed points. */
export interface FiledList extends Pick<Precedence, 'printed' | 'sent'> {
  /** Adds points from files. Removes or corrects the values of `printed` lists that files provide. */
  record(figures: Recorded, printed: readonly PointList[]): void;
  /** Drops the points up to this step, because an earlier process of the agent has sent them. */
  skipTo(step: number): void;
  isEmpty(): boolean;
  take(): readonly BarePoint[];
}

export function createFiledList(most: number): FiledList {
  const filed = createPointList(most);
  const precedence = createPrecedence();
  let sentUpTo = -1;

  const add = (point: BarePoint | null): void => {
    if (point !== null && (point.step ?? 0) > sentUpTo) addFiled(filed, point);
  };

  return {
    printed: precedence.printed,
    sent: precedence.sent,
    record({ live, late }, printed) {
      for (const point of live) {
        const keys = precedence.own(point);
        if (keys.size > 0) for (const list of printed) list.change(each => without(each, keys));
      }
      const corrections = new Map<number | undefined, BarePoint>();
      for (const point of late) {
        const { fresh, known } = precedence.late(point);
        if (known !== null) corrections.set(point.step, known);
        add(fresh);
      }
      if (corrections.size > 0)
        for (const list of printed) list.change(each => corrected(each, corrections.get(each.step)));
      for (const point of live) add(precedence.live(point));
    },
    skipTo(step) {
      sentUpTo = step;
      filed.change(point => ((point.step ?? 0) > step ? point : null));
    },
    isEmpty: () => filed.items().length === 0,
    take() {
      const points = filed.items();
      filed.drop(points.length);
      return points;
    },
  };
}

/** Merges two lists by time, and keeps the order within each. */
export function mergeByTime(
  printed: readonly BarePoint[],
  recorded: readonly BarePoint[],
): readonly BarePoint[] {
  const all: BarePoint[] = [];
  let next = 0;
  for (const point of printed) {
    for (; (recorded[next]?.elapsed_ms ?? Infinity) < point.elapsed_ms; next += 1)
      all.push(...recorded.slice(next, next + 1));
    all.push(point);
  }
  return [...all, ...recorded.slice(next)];
}

/**
 * Adds a point, or merges it into the unsent point of the same step. When two files repeat a step, the later file
 * counts.
 */
function addFiled(filed: PointList, point: BarePoint): void {
  let isThere = false;
  if (filed.items().some(({ step }) => step === point.step))
    filed.change(each => {
      if (isThere || each.step !== point.step) return each;
      isThere = true;
      return { ...each, epoch: point.epoch ?? each.epoch, values: { ...each.values, ...point.values } };
    });
  if (!isThere) filed.add(point);
}

const without = (point: BarePoint, keys: ReadonlySet<string>): BarePoint | null =>
  Object.keys(point.values).some(key => keys.has(key)) || keys.has('epoch')
    ? only(point, key => !keys.has(key))
    : point;

/** Replaces the printed values of a point by those of a file for the same step. */
function corrected(point: BarePoint, known: BarePoint | undefined): BarePoint {
  if (known === undefined) return point;
  const values = Object.entries(known.values).filter(([key]) => Object.hasOwn(point.values, key));
  return { ...point, values: { ...point.values, ...Object.fromEntries(values) } };
}
