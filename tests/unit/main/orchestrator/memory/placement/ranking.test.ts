import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createRanking,
  type Rankable,
} from '../../../../../../main/orchestrator/memory/placement/ranking.ts';

interface Item extends Rankable {
  readonly rank: number;
}

const makeItem = (rank: number): Item => ({ rank, isLive: true });
const createItemRanking = () => createRanking<Item>((a, b) => a.rank - b.rank);

// A missing item ranks last.
const rankOf = (item: Item | undefined): number => item?.rank ?? Number.POSITIVE_INFINITY;
const lowest = (items: Iterable<Item>): number => Math.min(...[...items].map(rankOf));

test('returns the lowest item first in any order of insertion', () => {
  const ranking = createItemRanking();
  for (const rank of [5, 3, 9, 1, 7]) ranking.add(makeItem(rank));
  expect([rankOf(ranking.first()), ranking.size]).toEqual([1, 5]);
});

test('returns no first item when the ranking is empty', () => {
  const ranking = createItemRanking();
  expect([ranking.first(), ranking.first(makeItem(1)), ranking.size]).toEqual([undefined, undefined, 0]);
});

test('skips the excluded item only in the call that excludes it', () => {
  const ranking = createItemRanking();
  const [first, second] = [makeItem(1), makeItem(2)];
  ranking.add(first);
  expect(ranking.first(first)).toBeUndefined();
  ranking.add(second);
  for (let n = 0; n < 100; n++)
    expect([ranking.first(first), ranking.first(second), ranking.first(), ranking.size]).toEqual([
      second,
      first,
      first,
      2,
    ]);
  ranking.drop(first);
  expect([ranking.first(), ranking.size]).toEqual([second, 1]);
});

test('drops an item once, even when it is dropped twice', () => {
  const ranking = createItemRanking();
  const [first, second] = [makeItem(1), makeItem(2)];
  ranking.add(first);
  ranking.add(second);
  ranking.drop(first);
  ranking.drop(first);
  expect([ranking.first(), ranking.size]).toEqual([second, 1]);
});

test.each([
  // The functions map the rank of an item to its position in the order of drops.
  ['from the front', (rank: number) => rank],
  ['from the back', (rank: number) => -rank],
  ['from both ends', (rank: number) => Math.min(rank, 999.5 - rank)],
  ['in a mixed order', (rank: number) => (rank * 7919) % 1000],
])('keeps the order when many items are dropped %s while other items are added', (_case, dropOrder) => {
  const ranking = createItemRanking();
  const items = Array.from({ length: 1_000 }, (_, rank) => makeItem(rank));
  for (const item of items) ranking.add(item);
  const remaining = new Set(items);
  for (const [n, item] of items.toSorted((a, b) => dropOrder(a.rank) - dropOrder(b.rank)).entries()) {
    ranking.drop(item);
    remaining.delete(item);
    const last = makeItem(1_000 + n);
    ranking.add(last);
    remaining.add(last);
    const lowestItem = makeItem(-1);
    ranking.add(lowestItem);
    expect([rankOf(ranking.first()), ranking.size]).toEqual([-1, remaining.size + 1]);
    ranking.drop(lowestItem);
    expect([rankOf(ranking.first()), ranking.size]).toEqual([lowest(remaining), remaining.size]);
  }
});

test('keeps the order of a few remaining items', () => {
  const ranking = createItemRanking();
  // Every other item is added out of order.
  const items = Array.from({ length: 1_000 }, (_, n) => makeItem(n % 2 === 0 ? n : 1_000 - n));
  for (const item of items) ranking.add(item);
  const sorted = items.toSorted((a, b) => a.rank - b.rank);
  const remaining = sorted.filter((_, n) => n % 50 === 0);
  for (const item of sorted.toReversed()) if (!remaining.includes(item)) ranking.drop(item);
  expect(ranking.size).toBe(remaining.length);
  for (const item of remaining) {
    expect(ranking.first()?.rank).toBe(item.rank);
    ranking.drop(item);
  }
  expect(ranking.first()).toBeUndefined();
});

test('behaves like a sorted list for any sequence of calls', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant('add' as const), key, fc.integer({ min: 0, max: 5_000 })) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('drop' as const), key, fc.constant(0)) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), key, (script, excluded) => {
      const ranking = createItemRanking();
      const model = new Map<string, Item>();
      for (const [action, name, rank] of script) {
        const previous = model.get(name);
        if (previous !== undefined) ranking.drop(previous);
        model.delete(name);
        const item = makeItem(rank);
        if (action === 'add') {
          ranking.add(item);
          model.set(name, item);
        }
        const excludedItem = model.get(excluded);
        const others = [...model.values()].filter(candidate => candidate !== excludedItem);
        expect(ranking.size).toBe(model.size);
        expect(rankOf(ranking.first())).toBe(lowest(model.values()));
        expect(rankOf(ranking.first(excludedItem))).toBe(lowest(others));
      }
    }),
  );
});
