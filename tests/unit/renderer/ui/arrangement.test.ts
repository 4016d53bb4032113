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

const rowA = { id: 'a', size: 3 };
const rowB = { id: 'b', size: 1 };
const rowC = { id: 'c', size: 2 };

test('replaces a changed row without another sort when the row keeps its position', () => {
  const { arrange, countSorts } = createCountingArrangement();
  expect(arrange([rowA, rowB, rowC])).toEqual([rowB, rowC, rowA]);
  const before = arrange([rowA, rowB, rowC]);
  const changedB = { ...rowB, note: 'changed' };
  const changedA = { ...rowA, note: 'changed, too' };
  expect(arrange([rowA, changedB, rowC])).toEqual([changedB, rowC, rowA]);
  expect(arrange([changedA, changedB, rowC])).toEqual([changedB, rowC, changedA]);
  expect(before).toEqual([rowB, rowC, rowA]);
  expect(countSorts()).toBe(1);
});

test('returns the same list when no row changed', () => {
  const { arrange, countSorts } = createCountingArrangement();
  const first = arrange([rowA, rowB, rowC]);
  expect(arrange([rowA, rowB, rowC])).toBe(first);
  expect(countSorts()).toBe(1);
});

test('sorts again when a row is added, removed, moved or changed in size', () => {
  const { arrange } = createCountingArrangement();
  arrange([rowA, rowB, rowC]);
  const rowD = { id: 'd', size: 0 };
  expect(arrange([rowA, rowB, rowC, rowD])).toEqual([rowD, rowB, rowC, rowA]);
  expect(arrange([rowA, rowD, rowC])).toEqual([rowD, rowC, rowA]);
  const grown = { ...rowD, size: 9 };
  expect(arrange([rowA, grown, rowC])).toEqual([rowC, rowA, grown]);
  // Rows of the same size keep their order.
  const sameSizeAsC = { ...rowA, size: 2 };
  expect(arrange([sameSizeAsC, grown, rowC])).toEqual([sameSizeAsC, rowC, grown]);
  expect(arrange([rowC, grown, sameSizeAsC])).toEqual([rowC, sameSizeAsC, grown]);
});

test('replaces a changed row at its new position after a sort', () => {
  const { arrange } = createCountingArrangement();
  arrange([rowA, rowB, rowC]);
  arrange([{ ...rowA, note: 'changed' }, rowB, rowC]);
  const grown = { ...rowB, size: 9 };
  arrange([rowA, grown, rowC]);
  const changed = { ...grown, note: 'changed' };
  expect(arrange([rowA, changed, rowC])).toEqual([rowC, rowA, changed]);
});

test('returns the same order as a full sort after any changes', () => {
  const anyRow = fc.record({
    id: fc.nat({ max: 5 }).map(String),
    size: fc.integer({ min: 0, max: 2 }),
    note: fc.constantFrom('x', 'y'),
  });
  const anyRows = fc.uniqueArray(anyRow, { selector: ({ id }) => id });
  fc.assert(
    fc.property(fc.array(fc.tuple(anyRows, fc.boolean())), steps => {
      const { arrange } = createCountingArrangement();
      let current: readonly Row[] = [];
      for (const [newRows, isSameRows] of steps) {
        const byId = new Map(newRows.map(newRow => [newRow.id, newRow]));
        current = isSameRows ? current.map(oldRow => byId.get(oldRow.id) ?? oldRow) : newRows;
        expect(arrange(current)).toEqual(current.toSorted((x, y) => x.size - y.size));
      }
    }),
  );
});
