/** What the bytes of an output are in. */
export interface LogLine {
  /** Without what ends it. */
  readonly line: Uint8Array;
  /** Where the next one begins. */
  readonly end: number;
  /** It ended with carriage returns alone: what comes next is written over it. */
  readonly isDrawnOver: boolean;
}

const lineFeed = 10;
const carriageReturn = 13;
/** Of these in a row, none of which says whether it ends a line. */
const longestReturns = 1024;

/**
 * The lines that have ended. Carriage returns at the very end may be half of a line's end: they wait for what follows, unless
 * nothing does.
 */
export function* linesIn(data: Uint8Array, isOver: boolean): Generator<LogLine> {
  let from = 0;
  for (let at = 0; at < data.length; at += 1) {
    if (data[at] !== lineFeed && data[at] !== carriageReturn) continue;
    const line = data.subarray(from, at);
    while (data[at] === carriageReturn) at += 1;
    if (at === data.length && !isOver && at - from - line.length < longestReturns) return;
    const isDrawnOver = data[at] !== lineFeed;
    // What follows carriage returns is looked at again.
    if (isDrawnOver) at -= 1;
    from = at + 1;
    yield { line, end: from, isDrawnOver };
  }
}

export const isBlank = (line: Uint8Array): boolean => line.every(byte => byte === 32);
