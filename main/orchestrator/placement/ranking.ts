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
  // Nearly everything comes in its order and goes from the front: that stays in a row. The rest goes into a heap, which
  // few rankings ever have. What was dropped stays in either until it comes up, or until the dead outnumber the living.
  // Nobody looks at it in between: most of a long line is in no cache. Before the row's beginning there is nothing.
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
    // Not a getter: of each shape this is looked at whenever a placement is asked for.
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
    first(but?: T) {
      const first = top();
      if (first === undefined || first !== but) return first;
      // Out for a moment: whatever held it has let go of it when the second is found.
      first.isLive = false;
      const second = top();
      first.isLive = true;
      pushToHeap(first);
      return second;
    },
  };
  return ranking;
}
