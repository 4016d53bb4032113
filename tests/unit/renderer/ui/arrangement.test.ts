/** Rows in an order that is recomputed only after a change. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createArrangement } from '../../../../renderer/ui/arrangement.ts';

interface Row {
  readonly id: string;
  readonly size: number;
  readonly note?: string;
}

/** By size, and how often that was looked for. */
function bench() {
  let times = 0;
  const arrange = createArrangement<Row>({
    idOf: ({ id }) => id,
    arrange(rows) {
      times += 1;
      return rows.toSorted((a, b) => a.size - b.size);
    },
    stays: (now, before) => now.size === before.size,
  });
  return { arrange, times: () => times };
}

const a = { id: 'a', size: 3 };
const b = { id: 'b', size: 1 };
const c = { id: 'c', size: 2 };

test('what changes and does not move is put in its place, and the order is not looked for again', () => {
  const { arrange, times } = bench();
  expect(arrange([a, b, c])).toEqual([b, c, a]);
  const before = arrange([a, b, c]);
  const told = { ...b, note: 'told' };
  const later = { ...a, note: 'later' };
  expect(arrange([a, told, c])).toEqual([told, c, a]);
  expect(arrange([later, told, c])).toEqual([told, c, later]);
  expect(before).toEqual([b, c, a]);
  expect(times()).toBe(1);
});

test('without a change the same list is given', () => {
  const { arrange, times } = bench();
  const first = arrange([a, b, c]);
  expect(arrange([a, b, c])).toBe(first);
  expect(times()).toBe(1);
});

test('rows that come, go, move, or change places are put in order anew', () => {
  const { arrange } = bench();
  arrange([a, b, c]);
  const d = { id: 'd', size: 0 };
  expect(arrange([a, b, c, d])).toEqual([d, b, c, a]);
  expect(arrange([a, d, c])).toEqual([d, c, a]);
  const grown = { ...d, size: 9 };
  expect(arrange([a, grown, c])).toEqual([c, a, grown]);
  const even = { ...a, size: 2 };
  expect(arrange([even, grown, c])).toEqual([even, c, grown]);
  expect(arrange([c, grown, even])).toEqual([c, even, grown]);
});

test('after they were put in order anew, what changes is put in its new place', () => {
  const { arrange } = bench();
  arrange([a, b, c]);
  arrange([{ ...a, note: 'told' }, b, c]);
  const grown = { ...b, size: 9 };
  arrange([a, grown, c]);
  const last = { ...grown, note: 'the last one' };
  expect(arrange([a, last, c])).toEqual([c, a, last]);
});

test('whatever becomes of the rows, they stand as if they had just been put in order', () => {
  const row = fc.record({
    id: fc.nat({ max: 5 }).map(String),
    size: fc.integer({ min: 0, max: 2 }),
    note: fc.constantFrom('x', 'y'),
  });
  const rows = fc.uniqueArray(row, { selector: ({ id }) => id });
  fc.assert(
    fc.property(fc.array(fc.tuple(rows, fc.boolean())), steps => {
      const { arrange } = bench();
      let there: readonly Row[] = [];
      for (const [wanted, isSameRows] of steps) {
        const byId = new Map(wanted.map(each => [each.id, each]));
        there = isSameRows ? there.map(old => byId.get(old.id) ?? old) : wanted;
        expect(arrange(there)).toEqual(there.toSorted((x, y) => x.size - y.size));
      }
    }),
  );
});
