import { expect, test } from 'vitest';
import {
  defaultColumns,
  parseColumns,
  visibleColumns,
} from '../../../../../renderer/pages/workers/column-choice.ts';

const all = ['select', 'state', 'name', 'power', 'acts'].map(id => ({ id }));

test('shows the chosen columns in the order of the table, and always selection, name and actions', () => {
  expect(visibleColumns(all, ['power', 'state', 'gone']).map(({ id }) => id)).toEqual([
    'select',
    'state',
    'name',
    'power',
    'acts',
  ]);
  expect(visibleColumns(all, []).map(({ id }) => id)).toEqual(['select', 'name', 'acts']);
});

test('parseColumns returns the column names in a stored list, and the default for anything else', () => {
  expect(parseColumns(['power', 7])).toEqual(['power']);
  for (const invalid of [null, 'power', {}, 7]) expect(parseColumns(invalid)).toBe(defaultColumns);
});
