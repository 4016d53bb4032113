/** Determines which rows of a table are rendered, and when the cells of these rows are rendered. */

/**
 * Number of rows to render beyond the visible ones in the direction of scrolling. In the other direction one row is
 * rendered, for the arrow keys.
 */
const rowsAhead = 4;
const rowsBehind = 1;

/** The first and the last visible row, and the number of all rows. */
interface Range {
  readonly startIndex: number;
  readonly endIndex: number;
  readonly count: number;
}

/**
 * Creates a function that returns the indexes of the rows to render. It drops rows behind the direction of scrolling
 * immediately, because fast scrolling leaves no time for extra rows.
 */
export function createWindow(): (range: Range) => number[] {
  let start = 0;
  let isDownwards = true;
  return ({ startIndex, endIndex, count }) => {
    if (startIndex !== start) isDownwards = startIndex > start;
    start = startIndex;
    const from = Math.max(0, startIndex - (isDownwards ? rowsBehind : rowsAhead));
    const to = Math.min(count - 1, endIndex + (isDownwards ? rowsAhead : rowsBehind));
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  };
}

/** Adds the index of a row to be rendered even out of view; -1 for none. */
export const withKept = (indexes: number[], keptIndex: number): number[] =>
  keptIndex < 0 || indexes.includes(keptIndex) ? indexes : [...indexes, keptIndex].toSorted((a, b) => a - b);

/** Schedules the rendering of cells in rows that scroll into view. */
export interface CellScheduler {
  /** Runs `render` in one of the next frames. The returned function cancels it. */
  schedule(render: () => void): () => void;
}

/**
 * Number of rows whose cells are rendered per frame. The cells of one row take about a millisecond. A slow turn of the
 * mouse wheel brings about this many rows into view.
 */
const rowsPerFrame = 6;

/**
 * Renders the cells of new rows a few rows per frame, because rendering a full screen in one frame would block
 * scrolling. The rows of the first screen are rendered together, because nothing scrolls yet.
 */
export function createCellScheduler(inNextFrame: (run: () => void) => void): CellScheduler {
  const waiting = new Set<() => void>();
  let isFirst = true;
  let isPlanned = false;
  const plan = (): void => {
    if (isPlanned || waiting.size === 0) return;
    isPlanned = true;
    inNextFrame(nextFrame);
  };
  const nextFrame = (): void => {
    const count = isFirst ? waiting.size : rowsPerFrame;
    isFirst = false;
    isPlanned = false;
    for (const render of [...waiting].slice(0, count)) {
      waiting.delete(render);
      render();
    }
    plan();
  };
  return {
    schedule(render) {
      waiting.add(render);
      plan();
      return () => void waiting.delete(render);
    },
  };
}
