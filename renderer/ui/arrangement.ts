/** Sorts rows that are passed repeatedly with few changes, where sorting is expensive. */
export type Arrangement<R> = (rows: readonly R[]) => readonly R[];

export interface ArrangementDeps<R> {
  readonly idOf: (row: R) => string;
  readonly arrange: (rows: readonly R[]) => readonly R[];
  /** Returns true when a changed row keeps its position. */
  readonly stays: (now: R, before: R) => boolean;
}

/**
 * Sorts again only when a row was added, removed or moved. Otherwise it replaces changed rows in place, and returns the same list when
 * nothing changed. A change then costs one pass over the list.
 */
export function createArrangement<R>({ idOf, arrange, stays }: ArrangementDeps<R>): Arrangement<R> {
  let from: readonly R[] | null = null;
  let arranged: readonly R[] = [];
  /** Built on first use; valid until a row moves. */
  let places: ReadonlyMap<string, number> | null = null;
  return rows => {
    const changes = from === null ? null : replacements(from, rows, idOf);
    from = rows;
    if (changes === null || !changes.every(({ now, before }) => stays(now, before))) {
      places = null;
      arranged = arrange(rows);
      return arranged;
    }
    if (changes.length === 0) return arranged;
    places ??= placesOf(arranged, idOf);
    const next = [...arranged];
    for (const { now } of changes) {
      const place = places.get(idOf(now));
      if (place !== undefined) next[place] = now;
    }
    arranged = next;
    return arranged;
  };
}

interface Replacement<R> {
  readonly now: R;
  readonly before: R;
}

/** Returns the changed rows with their previous versions; null when a row was added, removed or moved. */
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

export const placesOf = <R>(rows: readonly R[], idOf: (row: R) => string): ReadonlyMap<string, number> =>
  new Map(rows.map((row, at) => [idOf(row), at]));
