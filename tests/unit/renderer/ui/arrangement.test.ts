/** Tests that rows are sorted again only when a change requires it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createArrangement } from '../../../../renderer/ui/table-order.ts';

interface Row {
  readonly id: string;
  readonly size: number;
  readonly note?: string;
}

/** Returns an arrangement that sorts rows by size, and the number of its sorts. */
function createCountingArrangement() {
  let sorts = 0;
  const arrange = createArrangement<Row>({
    idOf: ({ id }) => id,
    arrange(rows) {
      sorts += 1;
      return rows.toSorted((a, b) => a.size - b.size);
    },
    keepsPosition: (now, before) => now.size === before.size,
  });
  return { arrange, countSorts: () => sorts };
}

const a = { id: 'a', size: 3 };
const b = { id: 'b', size: 1 };
const c = { id: 'c', size: 2 };

test('replaces a changed row that does not move without sorting again', () => {
  const { arrange, countSorts } = createCountingArrangement();
  expect(arrange([a, b, c])).toEqual([b, c, a]);
  const before = arrange([a, b, c]);
  const updatedB = { ...b, note: 'changed' };
  const updatedA = { ...a, note: 'changed, too' };
  expect(arrange([a, updatedB, c])).toEqual([updatedB, c, a]);
  expect(arrange([updatedA, updatedB, c])).toEqual([updatedB, c, updatedA]);
  expect(before).toEqual([b, c, a]);
  expect(countSorts()).toBe(1);
});

test('returns the same list without a change', () => {
  const { arrange, countSorts } = createCountingArrangement();
  const first = arrange([a, b, c]);
  expect(arrange([a, b, c])).toBe(first);
  expect(countSorts()).toBe(1);
});

test('sorts again when rows are added, removed or moved', () => {
  const { arrange } = createCountingArrangement();
  arrange([a, b, c]);
  const d = { id: 'd', size: 0 };
  expect(arrange([a, b, c, d])).toEqual([d, b, c, a]);
  expect(arrange([a, d, c])).toEqual([d, c, a]);
  const grown = { ...d, size: 9 };
  expect(arrange([a, grown, c])).toEqual([c, a, grown]);
  // Rows of the same size keep their order.
  const sameSizeAsC = { ...a, size: 2 };
  expect(arrange([sameSizeAsC, grown, c])).toEqual([sameSizeAsC, c, grown]);
  expect(arrange([c, grown, sameSizeAsC])).toEqual([c, sameSizeAsC, grown]);
});

test('replaces a changed row at its new place after a sort', () => {
  const { arrange } = createCountingArrangement();
  arrange([a, b, c]);
  arrange([{ ...a, note: 'changed' }, b, c]);
  const grown = { ...b, size: 9 };
  arrange([a, grown, c]);
  const changed = { ...grown, note: 'changed' };
  expect(arrange([a, changed, c])).toEqual([c, a, changed]);
});

test('matches a full sort after any changes', () => {
  const row = fc.record({
    id: fc.nat({ max: 5 }).map(String),
    size: fc.integer({ min: 0, max: 2 }),
    note: fc.constantFrom('x', 'y'),
  });
  const rows = fc.uniqueArray(row, { selector: ({ id }) => id });
  fc.assert(
    fc.property(fc.array(fc.tuple(rows, fc.boolean())), steps => {
      const { arrange } = createCountingArrangement();
      let current: readonly Row[] = [];
      for (const [newRows, isSameRows] of steps) {
        const byId = new Map(newRows.map(newRow => [newRow.id, newRow]));
        current = isSameRows ? current.map(old => byId.get(old.id) ?? old) : newRows;
        expect(arrange(current)).toEqual(current.toSorted((x, y) => x.size - y.size));
      }
    }),
  );
});
