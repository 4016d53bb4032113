import TinyQueue from 'tinyqueue';

/** What can be ranked: once, and in one ranking. The mark is in the thing itself, so that a job that waits is one object. */
export interface Rankable {
  /** From its making until it is dropped; the ranking's own. */
  isLive: boolean;
}

/** Things in an order, the first of which is always at hand. */
export interface Ranking<T extends Rankable> {
  readonly size: number;
  /** Takes no time to speak of for what comes last, logarithmic time for the rest. */
  add(item: T): void;
  /** Of one that was dropped before, nothing. */
  drop(item: T): void;
  /** The first of all, or of all but one. */
  first(but?: T): T | undefined;
}

/** So many dead entries are not worth a sweep. */
const sparedDead = 32;

/** `compare` as for `toSorted`; things that compare equal have no order among them. */
export function createRanking<T extends Rankable>(compare: (a: T, b: T) => number): Ranking<T> {
  // Nearly everything comes in its order and goes from the front: that stays in a row. The rest goes into a heap.
  // What was dropped stays in either until it comes up, or until the dead outnumber the living. Nobody looks at it in
  // between: most of a long line is in no cache.
  let row: T[] = [];
  let begin = 0;
  let size = 0;
  let heap = new TinyQueue<T>([], compare);

  const top = (): T | undefined => {
    while (row[begin]?.isLive === false) begin++;
    while (heap.peek()?.isLive === false) heap.pop();
    const inRow = row[begin];
    const inHeap = heap.peek();
    if (inRow === undefined || inHeap === undefined) return inRow ?? inHeap;
    return compare(inRow, inHeap) <= 0 ? inRow : inHeap;
  };

  const sweep = (): void => {
    if (begin > size / 2 + sparedDead) row.splice(0, begin);
    else if (row.length - begin + heap.length > 2 * size + sparedDead) {
      row = row.slice(begin).filter(({ isLive }) => isLive);
      heap = new TinyQueue(
        heap.data.filter(({ isLive }) => isLive),
        compare,
      );
    } else return;
    begin = 0;
  };

  return {
    get size() {
      return size;
    },
    add(item) {
      const last = row.at(-1);
      if (begin === row.length || last === undefined || compare(last, item) <= 0) row.push(item);
      else heap.push(item);
      size++;
    },
    drop(item) {
      if (!item.isLive) return;
      item.isLive = false;
      size--;
      sweep();
    },
    first(but) {
      const first = top();
      if (first === undefined || first !== but) return first;
      // Out for a moment: whatever held it has let go of it when the second is found.
      first.isLive = false;
      const second = top();
      first.isLive = true;
      heap.push(first);
      return second;
    },
  };
}
