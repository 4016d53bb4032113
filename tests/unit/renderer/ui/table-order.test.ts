/** Tests the order of rows in a table. */
import { expect, test } from 'vitest';
import { sortRows, arrangeByPosition } from '../../../../renderer/ui/table-order.ts';

interface Row {
  readonly id: string;
  readonly size: number;
}
const row = (id: string, size = 0): Row => ({ id, size });
const idOf = ({ id }: Row): string => id;
const ids = (rows: readonly Row[]): string => rows.map(idOf).join(' ');

test('keeps rows in the order of their positions and appends new rows', () => {
  const positions = new Map([
    ['c', 0],
    ['gone', 1],
    ['a', 2],
    ['b', 3],
  ]);
  expect(
    ids(arrangeByPosition([row('new'), row('a'), row('b'), row('newer'), row('c')], positions, idOf)),
  ).toBe('c a b new newer');
});

const bySize = { sortBy: ({ size }: Row) => size, sign: 1, idOf } as const;

test('keeps equal rows in their previous order and appends new equal rows', () => {
  const rows = [row('d', 2), row('a', 1), row('c', 2), row('b', 1)];
  const before = [row('b', 1), row('c', 2), row('gone', 9), row('d', 2)];
  expect(ids(sortRows(rows, { ...bySize, before }))).toBe('a b d c');
  expect(ids(sortRows(rows, { ...bySize, sign: -1, before }))).toBe('d c a b');
});

test('sorts texts by locale, and keeps the order of rows with infinite values', () => {
  const byName = { sortBy: idOf, sign: 1, idOf, before: [] } as const;
  expect(ids(sortRows([row('Zeta'), row('émile'), row('alpha'), row('Echo')], byName))).toBe(
    'alpha Echo émile Zeta',
  );
  const rows = [row('x', Number.POSITIVE_INFINITY), row('y', 1), row('z', Number.POSITIVE_INFINITY)];
  expect(ids(sortRows(rows, { ...bySize, before: [] }))).toBe('y x z');
});

test('sorts unknown values last in both directions', () => {
  const rows = [row('a', 1), row('unknown', -1), row('b', 2)];
  const known = { sortBy: ({ size }: Row) => (size < 0 ? null : size), idOf, before: [] } as const;
  expect(ids(sortRows(rows, { ...known, sign: 1 }))).toBe('a b unknown');
  expect(ids(sortRows(rows, { ...known, sign: -1 }))).toBe('b a unknown');
});
