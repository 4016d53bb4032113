import TinyQueue from 'tinyqueue';
import type { MonoMs } from '../../model.ts';

/** An item that can be added once, to one ranking. The flag is in the item itself, to save an object per pending job. */
export interface Rankable {
  /** True until the item is dropped. Only the ranking changes this flag. */
  isLive: boolean;
}

/** Sorted items with fast access to the first one. */
export interface Ranking<T extends Rankable> {
  readonly size: number;
  /** Constant time if the item sorts last, otherwise logarithmic. */
  add(item: T): void;
  /** Does nothing if the item was dropped before. */
  drop(item: T): void;
  /** Returns the first item that is not `except`; undefined if there is none. */
  first(except?: T): T | undefined;
}

/** Number of dropped items that a ranking may still contain before `sweep` removes them. */
const sparedDead = 32;

/** Creates a ranking. `compare` works as in `toSorted`. Items that compare equal have no defined order. */
export function createRanking<T extends Rankable>(compare: (a: T, b: T) => number): Ranking<T> {
  // Nearly all items arrive in order and leave from the front. The array `row` contains these items; its slots before `begin`
  // are empty. Items that arrive out of order go into a heap, which few rankings need. A dropped item stays in the array or
  // heap until it reaches the front, or until dropped items outnumber the others. To find it earlier would be slow in a long
  // queue.
  let row: (T | undefined)[] = [];
  let begin = 0;
  let heap: TinyQueue<T> | undefined;

  const topOfRow = (): T | undefined => {
    while (row[begin]?.isLive === false) row[begin++] = undefined;
    return row[begin];
  };
  const top = (): T | undefined => {
    const inRow = topOfRow();
    if (heap === undefined) return inRow;
    while (heap.peek()?.isLive === false) heap.pop();
    const inHeap = heap.peek();
    if (inRow === undefined || inHeap === undefined) return inRow ?? inHeap;
    return compare(inRow, inHeap) <= 0 ? inRow : inHeap;
  };

  const pushToHeap = (item: T): void => {
    heap ??= new TinyQueue<T>([], compare);
    heap.push(item);
  };

  const empty = (): void => {
    row.fill(undefined, begin);
    begin = row.length;
    heap = undefined;
  };
  const sweep = (): void => {
    const { size } = ranking;
    if (size === 0) empty();
    if (begin > size / 2 + sparedDead) row.splice(0, begin);
    else if (row.length - begin + (heap?.length ?? 0) > 2 * size + sparedDead) {
      row = row.filter(item => item?.isLive);
      heap &&= new TinyQueue(
        heap.data.filter(({ isLive }) => isLive),
        compare,
      );
    } else return;
    begin = 0;
  };

  const ranking = {
    // Not a getter: every placement reads the size for each shape.
    size: 0,
    add(item: T) {
      const last = row.at(-1);
      if (last === undefined || compare(last, item) <= 0) row.push(item);
      else pushToHeap(item);
      ranking.size++;
    },
    drop(item: T) {
      if (!item.isLive) return;
      item.isLive = false;
      if (row[begin] === item) row[begin++] = undefined;
      ranking.size--;
      sweep();
    },
    first(except?: T) {
      const first = top();
      if (first === undefined || first !== except) return first;
      // Mark the first item as dropped while searching for the second: `top` then removes the first from the row or heap.
      first.isLive = false;
      const second = top();
      first.isLive = true;
      pushToHeap(first);
      return second;
    },
  };
  return ranking;
}

/** Collects keys to check again, at the next `take` or at a given time. */
export interface Agenda<K> {
  add(key: K): void;
  /** Schedules a key. Replaces a time that was set before. */
  addAt(key: K, at: MonoMs): void;
  /** Removes and returns all keys that are due, each once. */
  take(now: MonoMs): Iterable<K>;
}

export function createAgenda<K>(): Agenda<K> {
  let changed = new Set<K>();
  const later = createRanking<Moment<K>>((a, b) => a.at - b.at);
  const moments = new Map<K, Moment<K>>();
  const cancel = (key: K): void => {
    const moment = moments.get(key);
    if (moment === undefined) return;
    later.drop(moment);
    moments.delete(key);
  };
  return {
    add: key => void changed.add(key),
    addAt(key, at) {
      cancel(key);
      const moment = { key, at, isLive: true };
      moments.set(key, moment);
      later.add(moment);
    },
    take(now) {
      for (let next = later.first(); next !== undefined && next.at <= now; next = later.first()) {
        cancel(next.key);
        changed.add(next.key);
      }
      const due = changed;
      if (due.size > 0) changed = new Set();
      return due;
    },
  };
}

interface Moment<K> extends Rankable {
  readonly key: K;
  readonly at: MonoMs;
}
