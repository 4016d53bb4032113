/** A line of the output. */
export interface LogLine {
  /** The line without its line break. */
  readonly line: Uint8Array;
  /** Where the next line begins. */
  readonly end: number;
  /** Whether the line ended with carriage returns only, so that the next one overwrites it. */
  readonly isDrawnOver: boolean;
}

const lineFeed = 10;
const carriageReturn = 13;
/** The maximum number of carriage returns that wait for the byte after them. */
const maxReturns = 1024;

/**
 * Yields the lines that have ended. Carriage returns at the very end may belong to a line break, so they wait for what
 * follows, unless `isOver`.
 */
export function* linesIn(data: Uint8Array, isOver: boolean): Generator<LogLine> {
  let from = 0;
  for (let at = 0; at < data.length; at += 1) {
    if (data[at] !== lineFeed && data[at] !== carriageReturn) continue;
    const line = data.subarray(from, at);
    while (data[at] === carriageReturn) at += 1;
    if (at === data.length && !isOver && at - from - line.length < maxReturns) return;
    const isDrawnOver = data[at] !== lineFeed;
    // The byte after the carriage returns is examined again.
    if (isDrawnOver) at -= 1;
    from = at + 1;
    yield { line, end: from, isDrawnOver };
  }
}

export const isBlank = (line: Uint8Array): boolean => line.every(byte => byte === 32);
