/** Tests which rows of a table are rendered. */
import { expect, test } from 'vitest';
import { createWindow } from '../../../../renderer/ui/table-rendering.ts';

/** Returns the first row, the last row and the number of rows. */
const firstLastCount = (rows: readonly number[]) => [rows[0], rows.at(-1), rows.length];
/** Returns a range of ten visible rows. */
const rangeAt = (startIndex: number, count = 1_000) => ({ startIndex, endIndex: startIndex + 9, count });

test('renders four extra rows in the scroll direction and one in the opposite direction', () => {
  const rows = createWindow();
  expect(firstLastCount(rows(rangeAt(0)))).toEqual([0, 13, 14]);
  expect(firstLastCount(rows(rangeAt(50)))).toEqual([49, 63, 15]);
  // Only the number of rows has changed, so the scroll direction stays the same.
  expect(firstLastCount(rows(rangeAt(50, 1_001)))).toEqual([49, 63, 15]);
  expect(firstLastCount(rows(rangeAt(40)))).toEqual([36, 50, 15]);
  expect(firstLastCount(rows(rangeAt(41)))).toEqual([40, 54, 15]);
});

test('renders no rows before the first row or after the last row', () => {
  const rows = createWindow();
  expect(firstLastCount(rows(rangeAt(990)))).toEqual([989, 999, 11]);
  expect(firstLastCount(rows(rangeAt(2)))).toEqual([0, 12, 13]);
});
