/** The rows of a table that are in the page. */
import { expect, test } from 'vitest';
import { createWindow } from '../../../../renderer/ui/table-rendering.ts';

const ends = (rows: readonly number[]) => [rows[0], rows.at(-1), rows.length];
const at = (startIndex: number, count = 1_000) => ({ startIndex, endIndex: startIndex + 9, count });

test('renders extra rows in the scroll direction and one in the other', () => {
  const rows = createWindow();
  expect(ends(rows(at(0)))).toEqual([0, 13, 14]);
  expect(ends(rows(at(50)))).toEqual([49, 63, 15]);
  // The number of rows has changed without scrolling, so the direction stays the same.
  expect(ends(rows(at(50, 1_001)))).toEqual([49, 63, 15]);
  expect(ends(rows(at(40)))).toEqual([36, 50, 15]);
  expect(ends(rows(at(41)))).toEqual([40, 54, 15]);
});

test('renders no rows before the first or after the last', () => {
  const rows = createWindow();
  expect(ends(rows(at(990)))).toEqual([989, 999, 11]);
  expect(ends(rows(at(2)))).toEqual([0, 12, 13]);
});
