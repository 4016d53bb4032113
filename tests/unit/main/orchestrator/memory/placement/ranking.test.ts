import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createRanking,
  type Rankable,
} from '../../../../../../main/orchestrator/memory/placement/ranking.ts';

interface Item extends Rankable {
  readonly rank: number;
}

const anItem = (rank: number): Item => ({ rank, isLive: true });
const newRanking = () => createRanking<Item>((a, b) => a.rank - b.rank);

// A missing item ranks last.
const rankOf = (item: Item | undefined): number => item?.rank ?? Number.POSITIVE_INFINITY;
const lowest = (items: Iterable<Item>): number => Math.min(...[...items].map(rankOf));

test('returns the lowest item first in any order of insertion', () => {
  const ranking = newRanking();
  for (const rank of [5, 3, 9, 1, 7]) ranking.add(anItem(rank));
  expect([rankOf(ranking.first()), ranking.size]).toEqual([1, 5]);
});

test('returns no first item when it is empty', () => {
  const ranking = newRanking();
  expect([ranking.first(), ranking.first(anItem(1)), ranking.size]).toEqual([undefined, undefined, 0]);
});

test('skips the excluded item for one call', () => {
  const ranking = newRanking();
  const [one, two] = [anItem(1), anItem(2)];
  ranking.add(one);
  expect(ranking.first(one)).toBeUndefined();
  ranking.add(two);
  for (let turn = 0; turn < 100; turn++)
    expect([ranking.first(one), ranking.first(two), ranking.first(), ranking.size]).toEqual([
      two,
      one,
      one,
      2,
    ]);
  ranking.drop(one);
  expect([ranking.first(), ranking.size]).toEqual([two, 1]);
});

test('drops an item once, even when it is dropped twice', () => {
  const ranking = newRanking();
  const [one, two] = [anItem(1), anItem(2)];
  ranking.add(one);
  ranking.add(two);
  ranking.drop(one);
  ranking.drop(one);
  expect([ranking.first(), ranking.size]).toEqual([two, 1]);
});

test.each([
  ['from the front', (n: number) => n],
  ['from the back', (n: number) => -n],
  ['from both ends', (n: number) => Math.min(n, 999.5 - n)],
  ['from anywhere', (n: number) => (n * 7919) % 1000],
])('keeps the order when many items are dropped %s while others are added', (_where, turn) => {
  const ranking = newRanking();
  const all = Array.from({ length: 1_000 }, (_, rank) => anItem(rank));
  for (const item of all) ranking.add(item);
  const left = new Set(all);
  for (const [n, item] of all.toSorted((a, b) => turn(a.rank) - turn(b.rank)).entries()) {
    ranking.drop(item);
    left.delete(item);
    const late = anItem(1_000 + n);
    ranking.add(late);
    left.add(late);
    const early = anItem(-1);
    ranking.add(early);
    expect([rankOf(ranking.first()), ranking.size]).toEqual([-1, left.size + 1]);
    ranking.drop(early);
    expect([rankOf(ranking.first()), ranking.size]).toEqual([lowest(left), left.size]);
  }
});

test('keeps the order of a few remaining items', () => {
  const ranking = newRanking();
  // Every other item is added out of order.
  const all = Array.from({ length: 1_000 }, (_, n) => anItem(n % 2 === 0 ? n : 1_000 - n));
  for (const item of all) ranking.add(item);
  const inTurn = all.toSorted((a, b) => a.rank - b.rank);
  const left = inTurn.filter((_, n) => n % 50 === 0);
  for (const item of inTurn.toReversed()) if (!left.includes(item)) ranking.drop(item);
  expect(ranking.size).toBe(left.length);
  for (const item of left) {
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
    fc.property(fc.array(step, { maxLength: 400 }), key, (script, but) => {
      const ranking = newRanking();
      const model = new Map<string, Item>();
      for (const [what, name, rank] of script) {
        const known = model.get(name);
        if (known !== undefined) ranking.drop(known);
        model.delete(name);
        const item = anItem(rank);
        if (what === 'add') {
          ranking.add(item);
          model.set(name, item);
        }
        const others = [...model].filter(([other]) => other !== but).map(([, other]) => other);
        expect(ranking.size).toBe(model.size);
        expect(rankOf(ranking.first())).toBe(lowest(model.values()));
        expect(rankOf(ranking.first(model.get(but)))).toBe(lowest(others));
      }
    }),
  );
});
