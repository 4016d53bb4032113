/** Rows that come again and again, most of them as they were, put in an order that is costly to find. */
export type Arrangement<R> = (rows: readonly R[]) => readonly R[];

export interface ArrangementParts<R> {
  readonly idOf: (row: R) => string;
  readonly arrange: (rows: readonly R[]) => readonly R[];
  /** Whether a row that has changed stands where it stood. */
  readonly stays: (now: R, before: R) => boolean;
}

/**
 * Arranges anew only when a row has come, gone or moved. What else has changed is put in its place, and where nothing has,
 * the same list is given as before: a change then costs a look along the list, however dear its order was.
 */
export function createArrangement<R>({ idOf, arrange, stays }: ArrangementParts<R>): Arrangement<R> {
  let from: readonly R[] | null = null;
  let arranged: readonly R[] = [];
  /** Made when it is needed first; true as long as nothing moves. */
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

/** Rows in whose places others of the same ids stand by now; null where one has come, gone or moved. */
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
