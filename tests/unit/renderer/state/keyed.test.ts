/** Tests the immutable map: a change returns a new version and does not affect older versions. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyed, type Keyed } from '../../../../renderer/state/keyed.ts';

const changes = (...pairs: readonly (readonly [string, number | null])[]) => new Map(pairs);
const entriesOf = <V>(map: Keyed<string, V>) => [...map];

test('returns a new version on a change and leaves the old version unchanged', () => {
  const before = keyed([
    ['a', 1],
    ['b', 2],
  ]);
  const after = before.with(changes(['a', 10], ['b', null], ['c', 3]));
  expect(entriesOf(before)).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
  expect(before.has('c')).toBe(false);
  expect(entriesOf(after)).toEqual([
    ['a', 10],
    ['c', 3],
  ]);
  expect([after.size, after.get('b'), after.has('b')]).toEqual([2, undefined, false]);
});

test('separates two versions that were derived from the same version', () => {
  const base = keyed([['a', 1]]);
  const first = base.with(changes(['x', 2]));
  const second = base.with(changes(['y', 3]));
  expect([...first.keys()]).toEqual(['a', 'x']);
  expect([...second.keys()]).toEqual(['a', 'y']);
  expect([first.get('y'), second.get('x'), base.get('x')]).toEqual([undefined, undefined, undefined]);
  expect([second.with(changes(['x', 4])).get('x'), first.get('x')]).toEqual([4, 2]);
});

test('returns the same version without a change', () => {
  const map = keyed([['a', 1]]);
  expect(map.with(new Map())).toBe(map);
});

test('adds a key again after its removal', () => {
  const map = keyed([['a', 1]])
    .with(changes(['b', 2]))
    .with(changes(['b', null]))
    .with(changes(['b', 5]));
  expect(entriesOf(map)).toEqual([
    ['a', 1],
    ['b', 5],
  ]);
});

test('returns unchanged values as the same objects and in the same order', () => {
  const rows = Array.from({ length: 2_000 }, (_, n) => ({ n }));
  const before = keyed(rows.map(row => [`row ${row.n}`, row] as const));
  const changed = { n: -1 };
  const after = before.with(new Map([['row 700', changed]]));
  const values = [...after.values()];
  expect(values[700]).toBe(changed);
  expect(values.filter((row, index) => row !== rows[index])).toEqual([changed]);
});

test('has the same entries as a built-in Map after the same changes', () => {
  const change = fc.tuple(
    fc.integer({ min: 0, max: 900 }).map(n => `id ${n}`),
    fc.option(fc.integer(), { freq: 2 }),
  );
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 700 }),
      fc.array(fc.array(change), { maxLength: 8 }),
      (initialChanges, batches) => {
        const start = initialChanges.flatMap(([id, value]) => (value === null ? [] : [[id, value] as const]));
        let map = keyed(start);
        const model = new Map(start);
        for (const batch of batches) {
          const before = entriesOf(map);
          const next = map.with(new Map(batch));
          expect(entriesOf(map)).toEqual(before);
          map = next;
          for (const [id, value] of new Map(batch))
            if (value === null) model.delete(id);
            else model.set(id, value);
        }
        const byId = (a: readonly [string, number], b: readonly [string, number]) => (a[0] < b[0] ? -1 : 1);
        expect(entriesOf(map).toSorted(byId)).toEqual([...model].toSorted(byId));
        expect(map.size).toBe(model.size);
        expect([...map.values()]).toEqual([...map].map(([, value]) => value));
      },
    ),
    { numRuns: 60 },
  );
});

test('keeps the remaining values in order after the removal of most keys', () => {
  const ids = Array.from({ length: 1_000 }, (_, n) => `id ${n}`);
  const map = keyed(ids.map((id, n) => [id, n] as const));
  const remaining = map.with(new Map(ids.slice(0, 990).map(id => [id, null])));
  expect([...remaining.values()]).toEqual([990, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
  expect(remaining.with(changes(['new', 1])).size).toBe(11);
  expect(map.size).toBe(1_000);
});
