/** Tests the map with immutable versions: a change does not affect older versions. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyed, type Keyed } from '../../../../renderer/state/keyed.ts';

const changes = (...pairs: readonly (readonly [string, number | null])[]) => new Map(pairs);
const entriesOf = <V>(things: Keyed<string, V>) => [...things];

test('returns a new version on a change and leaves the old one unchanged', () => {
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

test('keeps two versions derived from one base independent', () => {
  const base = keyed([['a', 1]]);
  const left = base.with(changes(['l', 2]));
  const right = base.with(changes(['r', 3]));
  expect([...left.keys()]).toEqual(['a', 'l']);
  expect([...right.keys()]).toEqual(['a', 'r']);
  expect([left.get('r'), right.get('l'), base.get('l')]).toEqual([undefined, undefined, undefined]);
  expect([right.with(changes(['l', 4])).get('l'), left.get('l')]).toEqual([4, 2]);
});

test('returns the same version without a change', () => {
  const things = keyed([['a', 1]]);
  expect(things.with(new Map())).toBe(things);
});

test('adds a removed key again', () => {
  const things = keyed([['a', 1]])
    .with(changes(['b', 2]))
    .with(changes(['b', null]))
    .with(changes(['b', 5]));
  expect(entriesOf(things)).toEqual([
    ['a', 1],
    ['b', 5],
  ]);
});

test('keeps unchanged rows identical and in order', () => {
  const rows = Array.from({ length: 2_000 }, (_, n) => ({ n }));
  const before = keyed(rows.map(row => [`row ${row.n}`, row] as const));
  const changed = { n: -1 };
  const after = before.with(new Map([['row 700', changed]]));
  const values = [...after.values()];
  expect(values[700]).toBe(changed);
  expect(values.filter((row, index) => row !== rows[index])).toEqual([changed]);
});

test('behaves like a map after any changes', () => {
  const change = fc.tuple(
    fc.integer({ min: 0, max: 900 }).map(n => `id ${n}`),
    fc.option(fc.integer(), { freq: 2 }),
  );
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 700 }),
      fc.array(fc.array(change), { maxLength: 8 }),
      (first, batches) => {
        const start = first.flatMap(([id, value]) => (value === null ? [] : [[id, value] as const]));
        let things = keyed(start);
        const model = new Map(start);
        for (const batch of batches) {
          const before = entriesOf(things);
          const next = things.with(new Map(batch));
          expect(entriesOf(things)).toEqual(before);
          things = next;
          for (const [id, value] of new Map(batch))
            if (value === null) model.delete(id);
            else model.set(id, value);
        }
        const byId = (a: readonly [string, number], b: readonly [string, number]) => (a[0] < b[0] ? -1 : 1);
        expect(entriesOf(things).toSorted(byId)).toEqual([...model].toSorted(byId));
        expect(things.size).toBe(model.size);
        expect([...things.values()]).toEqual([...things].map(([, value]) => value));
      },
    ),
    { numRuns: 60 },
  );
});

test('keeps the remaining rows in order after most were removed', () => {
  const ids = Array.from({ length: 1_000 }, (_, n) => `id ${n}`);
  const things = keyed(ids.map((id, n) => [id, n] as const));
  const left = things.with(new Map(ids.slice(0, 990).map(id => [id, null])));
  expect([...left.values()]).toEqual([990, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
  expect(left.with(changes(['new', 1])).size).toBe(11);
  expect(things.size).toBe(1_000);
});
