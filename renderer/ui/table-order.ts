import { useMemo, useRef, useState } from 'react';

/**
 * Returns the rows in order. Call it with each new version of the list; it avoids sorting when few rows have changed.
 */
export type Arrangement<R> = (rows: readonly R[]) => readonly R[];

export interface ArrangementDeps<R> {
  readonly idOf: (row: R) => string;
  readonly arrange: (rows: readonly R[]) => readonly R[];
  /** Returns true when the changed row keeps its position. */
  readonly keepsPosition: (now: R, before: R) => boolean;
}

/**
 * Creates a function that sorts only when a row was added, removed or moved. Otherwise it replaces changed rows in
 * place, and returns the same list when nothing has changed. A change then costs one pass over the list.
 */
export function createArrangement<R>({ idOf, arrange, keepsPosition }: ArrangementDeps<R>): Arrangement<R> {
  let from: readonly R[] | null = null;
  let arranged: readonly R[] = [];
  /** Position of each row in `arranged`. Computed when first needed, and again after a sort. */
  let positions: ReadonlyMap<string, number> | null = null;
  return rows => {
    const changes = from === null ? null : replacements(from, rows, idOf);
    from = rows;
    if (changes === null || !changes.every(({ now, before }) => keepsPosition(now, before))) {
      positions = null;
      arranged = arrange(rows);
      return arranged;
    }
    if (changes.length === 0) return arranged;
    positions ??= positionsOf(arranged, idOf);
    const next = [...arranged];
    for (const { now } of changes) {
      const position = positions.get(idOf(now));
      if (position !== undefined) next[position] = now;
    }
    arranged = next;
    return arranged;
  };
}

interface Replacement<R> {
  readonly now: R;
  readonly before: R;
}

/** Returns each changed row with its previous version; null when a row was added, removed or moved. */
export function replacements<R>(
  before: readonly R[],
  now: readonly R[],
  idOf: (row: R) => string,
): readonly Replacement<R>[] | null {
  if (before === now) return [];
  if (before.length !== now.length) return null;
  const changes: Replacement<R>[] = [];
  for (const [at, row] of now.entries()) {
    const old = before[at];
    if (row === old) continue;
    if (old === undefined || idOf(old) !== idOf(row)) return null;
    changes.push({ now: row, before: old });
  }
  return changes;
}

const positionsOf = <R>(rows: readonly R[], idOf: (row: R) => string): ReadonlyMap<string, number> =>
  new Map(rows.map((row, at) => [idOf(row), at]));

export interface Order {
  readonly column: string;
  readonly isDescending: boolean;
}

interface SortableColumn<R> {
  readonly id: string;
  readonly sortBy?: (row: R) => string | number | null;
}

/** The position of each row by its id. */
type Positions = ReadonlyMap<string, number>;

/** Sorts the rows. After `freeze`, rows keep their positions: removed rows disappear, and new ones are appended. */
export function useSteadyOrder<R>(
  rows: readonly R[],
  idOf: (row: R) => string,
  columns: readonly SortableColumn<R>[],
  order: Order | null,
) {
  const sortBy = columns.find(({ id }) => id === order?.column)?.sortBy;
  const sign = order?.isDescending === true ? -1 : 1;
  const last = useRef<readonly R[]>([]);
  const sort = useMemo(
    () =>
      sortBy === undefined
        ? null
        : createArrangement<R>({
            idOf,
            arrange: unsorted => sortRows(unsorted, { sortBy, sign, idOf, before: last.current }),
            keepsPosition: (now, before) => sortBy(now) === sortBy(before),
          }),
    [idOf, sortBy, sign],
  );
  const ordered = useMemo(() => {
    if (sort === null) return rows;
    last.current = sort(rows);
    return last.current;
  }, [rows, sort]);
  const [frozen, setFrozen] = useState<Positions | null>(null);
  const keepPositions = useMemo(
    () =>
      frozen === null
        ? null
        : createArrangement<R>({
            idOf,
            arrange: moved => arrangeByPosition(moved, frozen, idOf),
            keepsPosition: () => true,
          }),
    [idOf, frozen],
  );
  const steady = useMemo(
    () => (keepPositions === null ? ordered : keepPositions(ordered)),
    [ordered, keepPositions],
  );
  return {
    rows: steady,
    freeze: (): void => setFrozen(positionsOf(ordered, idOf)),
    unfreeze: (): void => setFrozen(null),
  };
}

/** Returns the rows in the order of `positions`, followed by rows without a position in their given order. @internal */
export function arrangeByPosition<R>(
  rows: readonly R[],
  positions: Positions,
  idOf: (row: R) => string,
): readonly R[] {
  const placed: (R | undefined)[] = Array.from({ length: positions.size });
  const others: R[] = [];
  for (const row of rows) {
    const position = positions.get(idOf(row));
    if (position === undefined) others.push(row);
    else placed[position] = row;
  }
  const placedRows: R[] = [];
  for (const row of placed) if (row !== undefined) placedRows.push(row);
  return others.length === 0 ? placedRows : [...placedRows, ...others];
}

interface Sorting<R> {
  readonly sortBy: (row: R) => string | number | null;
  readonly sign: 1 | -1;
  readonly idOf: (row: R) => string;
  /** The rows in their previous order. Most are still sorted, and nearly sorted rows are fast to sort. */
  readonly before: readonly R[];
}

/** Sorts the rows; equal rows keep their given order. @internal */
export function sortRows<R>(rows: readonly R[], { sortBy, sign, idOf, before }: Sorting<R>): readonly R[] {
  const entries = rows.map((row, at) => ({ row, at, key: sortBy(row) }));
  const nearlySorted = arrangeByPosition(entries, positionsOf(before, idOf), ({ row }) => idOf(row));
  return nearlySorted.toSorted((a, b) => compare(a.key, b.key, sign) || a.at - b.at).map(({ row }) => row);
}

const { compare: compareTexts } = new Intl.Collator();

/** Compares two sort keys. Null comes last in both directions. */
function compare(a: string | number | null, b: string | number | null, sign: 1 | -1): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b)));
}
