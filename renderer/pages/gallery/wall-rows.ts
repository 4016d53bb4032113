/** Lays out the wall in rows, so that only visible rows need to be rendered. */
import type { GallerySample, JobGroup } from './model.ts';

export type WallRow =
  | { readonly kind: 'job'; readonly group: JobGroup }
  | { readonly kind: 'tiles'; readonly group: JobGroup; readonly samples: readonly GallerySample[] };

/** Width of a tile in pixels, without the gap. Tiles grow until they fill the row. */
const tileWidth = 132;
/** Distance between two tiles, in pixels. */
export const tileGap = 8;
/** Heights in pixels: the heading of a job, and the name below a tile. */
const headHeight = 56;
const nameHeight = 26;

/** Returns the number of tiles in a row of this width. */
export const columnsIn = (width: number): number =>
  Math.max(2, Math.floor((width + tileGap) / (tileWidth + tileGap)));

/** Returns the height of a row in pixels. */
export function heightOf(row: WallRow, width: number): number {
  if (row.kind === 'job') return headHeight;
  // Tiles are square. The height includes the gap below the tile.
  const tileWithGap = Math.floor((width + tileGap) / columnsIn(width));
  return tileWithGap + nameHeight;
}

/** Returns a heading and rows of tiles for each job. */
export function wallRows(groups: readonly JobGroup[], columns: number): readonly WallRow[] {
  return groups.flatMap((group): readonly WallRow[] => {
    const count = Math.ceil(group.samples.length / columns);
    const lines = Array.from({ length: count }, (_, line) =>
      group.samples.slice(line * columns, (line + 1) * columns),
    );
    return [{ kind: 'job', group }, ...lines.map(samples => ({ kind: 'tiles' as const, group, samples }))];
  });
}

/** Indexes of a tile: its row on the wall, and its column in that row. */
export interface TilePlace {
  readonly row: number;
  readonly column: number;
}

/** Returns the tile that an arrow key moves to; null for other keys, and at the end of the wall. */
export function tileAfterKey(rows: readonly WallRow[], from: TilePlace, key: string): TilePlace | null {
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (sideways !== undefined) {
    const column = from.column + sideways;
    if (column >= 0 && column < tilesIn(rows, from.row)) return { row: from.row, column };
    // At the edge of a row, continue in the next or previous row.
    const row = nextRow(rows, from.row, sideways);
    return row === null ? null : { row, column: sideways === 1 ? 0 : tilesIn(rows, row) - 1 };
  }
  const vertical = { ArrowUp: -1, ArrowDown: 1 }[key];
  const row = vertical === undefined ? null : nextRow(rows, from.row, vertical);
  return row === null ? null : { row, column: Math.min(from.column, tilesIn(rows, row) - 1) };
}

function tilesIn(rows: readonly WallRow[], index: number): number {
  const row = rows[index];
  return row?.kind === 'tiles' ? row.samples.length : 0;
}

/** Returns the index of the next row with tiles in this direction, 1 or -1; null for none. */
function nextRow(rows: readonly WallRow[], from: number, direction: number): number | null {
  for (let row = from + direction; row >= 0 && row < rows.length; row += direction)
    if (tilesIn(rows, row) > 0) return row;
  return null;
}
