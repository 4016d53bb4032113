/** Texts for choosing the columns of the table of jobs. They load with that table. */
export const columns = {
  'columns.open': 'Columns',
  'columns.title': 'Config values as columns',
  'columns.explain':
    'Keys in which the configs of the listed jobs differ. This browser remembers up to {max, number} of them.',
  'columns.search': 'Search keys',
  'columns.none': 'The configs of the listed jobs do not differ.',
  'columns.chosen': '{count, number} of {max, number} selected',
} as const;

export type ColumnKey = keyof typeof columns;
