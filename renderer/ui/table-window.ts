/** Rows rendered beyond the visible ones, in scroll direction. One row behind stays for the arrow keys. */
const ahead = 4;
const behind = 1;

/** The first and the last visible row, and the number of all rows. */
interface Range {
  readonly startIndex: number;
  readonly endIndex: number;
  readonly count: number;
}

/** Selects the rows to render. Rows behind are dropped at once, because fast scrolling makes every extra row wasted work. */
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
