import TinyQueue from 'tinyqueue';

/** Things by their keys, the first of which is always at hand. */
export interface Ranking<K, T> {
  readonly size: number;
  /** Replaces what had this key. Takes no time to speak of for what comes last, logarithmic time for the rest. */
  set(key: K, item: T): void;
  /** False when there was none. */
  delete(key: K): boolean;
  /** The first of all, or of all but one. */
  first(but?: K): T | undefined;
}

interface Entry<K, T> {
  readonly key: K;
  readonly item: T;
  isLive: boolean;
}

/** So many dead entries are not worth a sweep. */
const sparedDead = 32;

/** `compare` as for `toSorted`; things that compare equal have no order among them. */
export function createRanking<K, T>(compare: (a: T, b: T) => number): Ranking<K, T> {
  type Own = Entry<K, T>;
  const entries = new Map<K, Own>();
  // Nearly everything comes in its order and goes from the front: that stays in a row. The rest goes into a heap.
  // What was deleted stays in either until it comes up, or until the dead outnumber the living.
  let row: Own[] = [];
  let begin = 0;
  const byItem = (a: Own, b: Own): number => compare(a.item, b.item);
  let heap = new TinyQueue<Own>([], byItem);

  const put = (entry: Own): void => {
    const last = row.at(-1);
    if (begin === row.length || last === undefined || compare(last.item, entry.item) <= 0) row.push(entry);
    else heap.push(entry);
  };

  const drop = (key: K): boolean => {
    const entry = entries.get(key);
    if (entry === undefined) return false;
    entry.isLive = false;
    entries.delete(key);
    if (row.length + heap.length > 2 * entries.size + sparedDead) sweep();
    return true;
  };

  const sweep = (): void => {
    row = row.filter(({ isLive }) => isLive);
    begin = 0;
    heap = new TinyQueue(
      heap.data.filter(({ isLive }) => isLive),
      byItem,
    );
  };

  const top = (): Own | undefined => {
    while (row[begin]?.isLive === false) begin++;
    while (heap.peek()?.isLive === false) heap.pop();
    const inRow = row[begin];
    const inHeap = heap.peek();
    if (inRow === undefined || inHeap === undefined) return inRow ?? inHeap;
    return compare(inRow.item, inHeap.item) <= 0 ? inRow : inHeap;
  };

  return {
    get size() {
      return entries.size;
    },
    set(key, item) {
      drop(key);
      const entry = { key, item, isLive: true };
      entries.set(key, entry);
      put(entry);
    },
    delete: drop,
    first(but) {
      const first = top();
      if (first === undefined || first.key !== but) return first?.item;
      first.isLive = false;
      const second = top();
      const again = { ...first, isLive: true };
      entries.set(first.key, again);
      heap.push(again);
      return second?.item;
    },
  };
}
