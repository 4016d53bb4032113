/** So many rows are ready beyond the edge that is scrolled towards; behind the other one, the one that a key may go back to. */
const ahead = 4;
const behind = 1;

/** The first and the last row that can be seen, of so many. */
interface Range {
  readonly startIndex: number;
  readonly endIndex: number;
  readonly count: number;
}

/**
 * Which rows are in the page. Those that were just left are not kept: with a wheel that turns fast every row that is made
 * beyond an edge is made for nothing.
 */
export function createWindow(): (range: Range) => number[] {
  let start = 0;
  let isDownwards = true;
  return ({ startIndex, endIndex, count }) => {
    if (startIndex !== start) isDownwards = startIndex > start;
    start = startIndex;
    const from = Math.max(0, startIndex - (isDownwards ? behind : ahead));
    const to = Math.min(count - 1, endIndex + (isDownwards ? ahead : behind));
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  };
}
