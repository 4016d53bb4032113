/** Columns that are always shown: they select, name and change a worker. */
const fixed: ReadonlySet<string> = new Set(['select', 'name', 'acts']);

export const isFixed = (id: string): boolean => fixed.has(id);

/** The chosen columns when a user has not chosen any. Together they fit into a window of 1280 px. */
export const defaultColumns: readonly string[] = ['state', 'gpus', 'load', 'job', 'labels', 'contact'];

/** Returns the chosen columns from a stored value. Ids of columns that no longer exist are harmless. */
export const parseColumns = (stored: unknown): readonly string[] =>
  Array.isArray(stored) ? stored.filter(id => typeof id === 'string') : defaultColumns;

/** Returns the columns to show, in their own order. */
export function visibleColumns<C extends { readonly id: string }>(
  columns: readonly C[],
  chosen: readonly string[],
): readonly C[] {
  return columns.filter(({ id }) => isFixed(id) || chosen.includes(id));
}
