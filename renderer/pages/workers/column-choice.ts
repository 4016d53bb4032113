/** Columns that are always shown, because they select, name and change a worker. */
const fixed: ReadonlySet<string> = new Set(['select', 'name', 'acts']);

export const isFixed = (id: string): boolean => fixed.has(id);

/** The initially chosen columns. They fit into a window with a width of 1280 px. */
export const defaultColumns: readonly string[] = ['state', 'gpus', 'load', 'job', 'labels', 'contact'];

/** Returns the ids of the chosen columns from a stored value. Does not check the ids, because unknown ids have no effect. */
export const parseColumns = (stored: unknown): readonly string[] =>
  Array.isArray(stored) ? stored.filter(id => typeof id === 'string') : defaultColumns;

/** Returns the columns to show, in the order of `columns`. */
export function visibleColumns<C extends { readonly id: string }>(
  columns: readonly C[],
  chosen: readonly string[],
): readonly C[] {
  return columns.filter(({ id }) => isFixed(id) || chosen.includes(id));
}
